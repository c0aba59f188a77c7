//! The answers to AdmissionReviews: the rules that the API server of this program calls without a webhook.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use machinery::status::Status;
use registry::{Definition, Operation, Subresource};
use schemas::admission::has_scale_rules;
use serde_json::{Value, json};

use super::definitions::Definitions;
use super::{json_patch, request, text};
use crate::admission::{ClusterApiAdmission, Objects, Write};

const VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// What a review asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Defaults, for a MutatingWebhookConfiguration.
    Defaults,
    /// The rules, for a ValidatingWebhookConfiguration.
    Rules,
}

impl Purpose {
    /// Returns the kind of the webhook configuration.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Defaults => "MutatingWebhookConfiguration",
            Self::Rules => "ValidatingWebhookConfiguration",
        }
    }
}

/// Answers a review. `scaled` is the object whose `/scale` is written, with the new number of replicas, if the review is about one.
/// `objects` are those of the cluster, on which rules depend.
///
/// # Errors
/// What is wrong with the review.
pub fn admission(
    purpose: Purpose,
    review: &Value,
    definitions: &Definitions,
    rules: &ClusterApiAdmission,
    scaled: Option<Result<Value, Status>>,
    objects: &dyn Objects,
) -> Result<Value, String> {
    let request = request(review, VERSION, KIND)?;
    let write = write(request, definitions)?;
    let mut warnings = Vec::new();
    let mut patch = Vec::new();
    let outcome = match scaled {
        Some(scaled) => scaled.and_then(|object| rules.check(&write, &object, &mut warnings, objects)),
        None => {
            let object = &request["object"];
            if write.operation != Operation::Delete && !object.is_object() {
                return Err("request.object is no object".to_owned());
            }
            match purpose {
                Purpose::Rules => rules.check(&write, object, &mut warnings, objects),
                Purpose::Defaults => {
                    let mut new = object.clone();
                    let outcome = rules.set_defaults(&write, &mut new, &mut warnings, objects);
                    if outcome.is_ok() {
                        patch = json_patch::difference(object, &new);
                    }
                    outcome
                }
            }
        }
    };
    let mut response = json!({"uid": request["uid"], "allowed": outcome.is_ok(), "warnings": warnings});
    if let Err(status) = outcome {
        response["status"] = status.to_value();
    } else if !patch.is_empty() {
        response["patchType"] = "JSONPatch".into();
        response["patch"] = STANDARD.encode(Value::Array(patch).to_string()).into();
    }
    Ok(json!({"apiVersion": VERSION, "kind": KIND, "response": response}))
}

/// Returns the definition, the namespace, the name and the new number of replicas if a review is about a write of `/scale` of a kind that
/// has rules for it. The names are as the client has sent them.
pub fn scaled<'a>(
    review: &'a Value,
    definitions: &'a Definitions,
) -> Option<(&'a Definition, &'a str, &'a str, i64)> {
    let request = &review["request"];
    let definition = definition(request, definitions)?;
    let replicas = request["object"]["spec"]["replicas"].as_i64().unwrap_or_default();
    let has_rules = has_scale_rules(&definition.group, &definition.kind);
    (request["subResource"] == "scale" && has_rules)
        .then(|| (definition, text(request, "namespace"), text(request, "name"), replicas))
}

fn definition<'a>(request: &Value, definitions: &'a Definitions) -> Option<&'a Definition> {
    let resource = &request["resource"];
    definitions.of_resource(text(resource, "group"), text(resource, "resource"))
}

fn write<'a>(request: &'a Value, definitions: &'a Definitions) -> Result<Write<'a>, String> {
    let unknown = || format!("request.resource: no webhook is here for {}", request["resource"]);
    let definition = definition(request, definitions).ok_or_else(unknown)?;
    let version = text(&request["resource"], "version");
    definition.version(version).ok_or_else(unknown)?;
    let operation = match text(request, "operation") {
        "CREATE" => Operation::Create,
        "UPDATE" => Operation::Update,
        "DELETE" => Operation::Delete,
        other => return Err(format!("request.operation: {other:?} is none of CREATE, UPDATE and DELETE")),
    };
    let subresource = text(request, "subResource");
    Ok(Write {
        definition,
        version,
        subresource: Subresource::named(subresource)
            .ok_or_else(|| format!("request.subResource: {subresource:?} is unknown"))?,
        operation,
        name: text(request, "name"),
        dry_run: request["dryRun"] == true,
        propagation: request["options"]["propagationPolicy"].as_str(),
        old: Some(&request["oldObject"]).filter(|old| old.is_object()),
    })
}
