//! Conversion by webhook: builds ConversionReviews and validates the answers.
//!
//! The rules and the error messages are those of apiextensions-apiserver's `webhook_converter.go`.

use std::time::Duration;

use kinds::definition::Conversion;
use machinery::go::go_type;
use machinery::meta;
use machinery::status::Status;
use serde_json::{Map, Value, json};

use crate::webhook::call::Webhooks;

/// Timeout of one review.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of objects in one review.
const BATCH: usize = 200;

impl Webhooks<'_> {
    /// Lets the webhook convert objects of one kind to `api_version`. All of them must be in another version.
    ///
    /// # Errors
    /// 500 with the message of kube-apiserver: `conversion webhook for … failed: …`.
    pub(crate) async fn convert(
        &self,
        conversion: &Conversion,
        objects: Vec<Value>,
        api_version: &str,
    ) -> Result<Vec<Value>, Status> {
        let mut converted = Vec::with_capacity(objects.len());
        for batch in objects.chunks(BATCH) {
            let Some(first) = batch.first() else { continue };
            let (group, version) = meta::group_version(meta::api_version(first));
            let subject = format!("conversion webhook for {group}/{version}, Kind={}", meta::kind(first));
            let answers = self.review(conversion, batch, api_version).await;
            let answers = answers.map_err(|why| Status::generic(format!("{subject} failed: {why}")))?;
            if answers.len() != batch.len() {
                let (found, wanted) = (answers.len(), batch.len());
                let why = format!("{subject} returned {found} objects, expected {wanted}");
                return Err(Status::generic(why));
            }
            for (index, (original, answer)) in batch.iter().zip(answers).enumerate() {
                let checked = check(original, answer, api_version, index);
                converted.push(checked.map_err(|why| Status::generic(format!("{subject} returned {why}")))?);
            }
        }
        Ok(converted)
    }

    /// Sends one review and returns the converted objects as received.
    async fn review(
        &self,
        conversion: &Conversion,
        objects: &[Value],
        api_version: &str,
    ) -> Result<Vec<Value>, String> {
        let client = conversion.client.as_ref().ok_or("its clientConfig is invalid")?;
        let uid = self.new_uid();
        let review_version = format!("apiextensions.k8s.io/{}", conversion.review);
        let request = json!({
            "kind": "ConversionReview",
            "apiVersion": review_version,
            "request": {"uid": uid, "desiredAPIVersion": api_version, "objects": objects},
        });
        let mut answer = self.call(client, TIMEOUT, &request).await.map_err(|error| error.to_string())?;
        let (kind, version) = (meta::kind(&answer), meta::api_version(&answer));
        // For `v1beta1`, kube-apiserver checks neither the kind and version of the answer nor its UID.
        let strict = conversion.review == "v1";
        if strict && (kind != "ConversionReview" || version != review_version) {
            return Err(format!(
                "expected webhook response of {}, got {}",
                group_version_kind(&review_version, "ConversionReview"),
                group_version_kind(version, kind)
            ));
        }
        let response = &mut answer["response"];
        if !response.is_object() {
            return Err("no response provided".to_owned());
        }
        let found = response["uid"].as_str().unwrap_or_default();
        if strict && found != uid {
            return Err(format!("expected response.uid=\"{uid}\", got {found:?}"));
        }
        let result = &response["result"];
        let status = result["status"].as_str().unwrap_or_default();
        if status != "Success" {
            return Err(match result["message"].as_str().filter(|message| !message.is_empty()) {
                Some(message) => message.to_owned(),
                None => format!("response.result.status was '{status}', not 'Success'"),
            });
        }
        match response["convertedObjects"].take() {
            Value::Array(objects) => Ok(objects),
            _ => Ok(Vec::new()),
        }
    }
}

/// Formats a `schema.GroupVersionKind` like Go.
fn group_version_kind(api_version: &str, kind: &str) -> String {
    let (group, version) = meta::group_version(api_version);
    format!("{group}/{version}, Kind={kind}")
}

/// Validates a converted object. A webhook may change `apiVersion` and everything outside `metadata`, and of `metadata`
/// only labels and annotations; its other changes in `metadata` are reverted.
fn check(original: &Value, mut answer: Value, api_version: &str, index: usize) -> Result<Value, String> {
    let invalid = |why: String| format!("invalid object at index {index}: {why}");
    let wanted = group_version_kind(api_version, "").replace(", Kind=", "");
    let (group, version) = meta::group_version(meta::api_version(&answer));
    if meta::api_version(&answer) != api_version {
        let why = format!("invalid groupVersion (expected {wanted}, received {group}/{version})");
        return Err(invalid(why));
    }
    let (expected, received) = (meta::kind(original), meta::kind(&answer));
    if expected != received {
        return Err(invalid(format!("invalid kind (expected {expected}, received {received})")));
    }
    for (what, key) in [("name", "name"), ("namespace", "namespace"), ("UID", "uid")] {
        let text = |object: &Value| object["metadata"][key].as_str().unwrap_or_default().to_owned();
        let (before, after) = (text(original), text(&answer));
        if before != after {
            return Err(format!("invalid object: must have the same {what}: {before} != {after}"));
        }
    }
    let metadata = restored(original, &answer).map_err(|why| format!("invalid metadata: {why}"))?;
    if let Some(map) = answer.as_object_mut() {
        map.insert("metadata".into(), Value::Object(metadata));
    }
    Ok(answer)
}

/// Returns the original metadata with the labels and annotations of the converted object.
fn restored(original: &Value, answer: &Value) -> Result<Map<String, Value>, String> {
    let found = answer.get("metadata").ok_or("missing metadata in converted object")?;
    let go = go_type(found);
    let found = found.as_object().ok_or(format!("invalid metadata of type {go} in converted object"))?;
    let mut metadata = original["metadata"].as_object().cloned().unwrap_or_default();
    for key in ["labels", "annotations"] {
        let value = match found.get(key) {
            None | Some(Value::Null) => {
                metadata.remove(key);
                continue;
            }
            Some(value) => value,
        };
        let go = go_type(value);
        let map = value
            .as_object()
            .ok_or_else(|| format!("invalid metadata.{key} of type {go} in converted object"))?;
        for (name, value) in map {
            if !value.is_string() {
                let go = go_type(value);
                return Err(format!(
                    "metadata.{key}[{name}] must be a string, but is {go} in converted object"
                ));
            }
        }
        if metadata.get(key) != Some(value) {
            let errors = crate::write::metadata::check_converted(key, value);
            if !errors.is_empty() {
                let shown: Vec<String> = errors.iter().map(ToString::to_string).collect();
                return Err(match &shown[..] {
                    [one] => one.clone(),
                    many => format!("[{}]", many.join(", ")),
                });
            }
        }
        metadata.insert(key.to_owned(), value.clone());
    }
    Ok(metadata)
}
