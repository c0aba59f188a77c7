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

#[cfg(test)]
mod tests {
    use kube::api::ApiResource;
    use serde_json::json;

    use super::*;

    #[test]
    fn authorities_reach_every_webhook_once() {
        let resource = ApiResource::erase::<k8s_openapi::api::core::v1::Secret>(&());
        let object = |data: Value| DynamicObject::new("x", &resource).data(data);
        let encoded = STANDARD.encode("authority");
        for (data, expected) in [
            (
                json!({"webhooks": [{"name": "a", "clientConfig": {}}, {"clientConfig": {"caBundle": "old"}}]}),
                Some(json!({"webhooks": [
                    {"name": "a", "clientConfig": {"caBundle": encoded}}, {"clientConfig": {"caBundle": encoded}},
                ]})),
            ),
            (
                json!({"spec": {"conversion": {"webhook": {"clientConfig": {}}}}}),
                Some(json!({"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": encoded}}}}})),
            ),
            (json!({"spec": {"conversion": {"strategy": "None"}}}), None),
            (json!({"webhooks": [{"clientConfig": {"caBundle": encoded}}]}), None),
        ] {
            assert_eq!(injected(&object(data), b"authority").map(|object| object.data), expected);
        }
    }
}
