//! Where authorities are injected.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use certificates::injected;
use kube::api::{ApiResource, DynamicObject};
use serde_json::{Value, json};

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
