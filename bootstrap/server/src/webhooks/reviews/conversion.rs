//! The answers to ConversionReviews: the conversion that the API server of this program calls without a webhook.

use machinery::meta;
use serde_json::{Value, json};

use super::definitions::Definitions;
use super::{request, text};

const VERSION: &str = "apiextensions.k8s.io/v1";
const KIND: &str = "ConversionReview";

/// Answers a review. Its objects become those of the answer and are never copied, because a list may be large. An object that cannot be
/// converted makes the answer a failure, as the API server expects.
///
/// # Errors
/// What is wrong with the review.
pub fn conversion(mut review: Value, definitions: &Definitions) -> Result<Value, String> {
    request(&review, VERSION, KIND)?;
    let request = &mut review["request"];
    let Value::Array(objects) = request["objects"].take() else {
        return Err("request.objects is no list".to_owned());
    };
    let wanted = text(request, "desiredAPIVersion");
    let converted: Result<Vec<Value>, String> =
        objects.into_iter().map(|object| convert(object, wanted, definitions)).collect();
    let mut answer = json!({"apiVersion": VERSION, "kind": KIND, "response": {"uid": request["uid"]}});
    let response = &mut answer["response"];
    match converted {
        Ok(converted) => {
            response["result"] = json!({"status": "Success"});
            response["convertedObjects"] = converted.into();
        }
        Err(why) => response["result"] = json!({"status": "Failure", "message": why}),
    }
    Ok(answer)
}

fn convert(object: Value, wanted: &str, definitions: &Definitions) -> Result<Value, String> {
    let (api_version, kind) = (meta::api_version(&object), meta::kind(&object));
    let refused = || format!("an object of {api_version}, Kind={kind} cannot be converted to {wanted:?}");
    let (group, version) = meta::group_version(api_version);
    let (wanted_group, wanted_version) = meta::group_version(wanted);
    let definition = definitions.of_kind(group, kind).ok_or_else(refused)?;
    let has = |version: &str| definition.version(version).is_some();
    if group != wanted_group || !has(version) || !has(wanted_version) {
        return Err(refused());
    }
    Ok(definition.converted(object, wanted_version))
}
