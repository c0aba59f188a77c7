//! Where an authority belongs in an object.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::api::DynamicObject;
use serde_json::Value;

/// The annotation of a Secret that permits the injection of its authority.
pub const ALLOW: &str = "cert-manager.io/allow-direct-injection";

/// Returns an object with an authority, a bundle in PEM; `None` if it has it already, or has no webhook.
pub fn injected(object: &DynamicObject, bundle: &[u8]) -> Option<DynamicObject> {
    let bundle = Value::String(STANDARD.encode(bundle));
    let mut wanted = object.clone();
    for webhook in wanted.data.get_mut("webhooks").and_then(Value::as_array_mut).into_iter().flatten() {
        webhook["clientConfig"]["caBundle"] = bundle.clone();
    }
    if let Some(config) = wanted.data.pointer_mut("/spec/conversion/webhook/clientConfig") {
        config["caBundle"] = bundle;
    }
    (wanted.data != object.data).then_some(wanted)
}
