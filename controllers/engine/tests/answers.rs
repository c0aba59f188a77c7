//! Tests of `engine::answers`.

use engine::NamespacedName;
use engine::testing::{Identity, without_managed_fields};
use k8s_openapi::api::core::v1::ConfigMap;

#[test]
fn everything_but_managed_fields() {
    let text = r#"{"kind":"ConfigMap","metadata":{"managedFields":[{"manager":"a \" ]}","fieldsV1":{"f:data":{}}}],"name":"a","namespace":"b","resourceVersion":"7","uid":"u"},"data":{"managedFields":"kept"}}"#;
    let cut = without_managed_fields(text);
    let expected = r#"{"kind":"ConfigMap","metadata":{"managedFields":null,"name":"a","namespace":"b","resourceVersion":"7","uid":"u"},"data":{"managedFields":"kept"}}"#;
    assert_eq!(cut, expected);
    let object: ConfigMap = serde_json::from_str(&cut).unwrap();
    assert_eq!(object.metadata.managed_fields, None);
    let identity = Identity::read(&cut).unwrap();
    assert_eq!((identity.key(), &*identity.uid), (NamespacedName::new("b", "a"), "u"));
    assert_eq!(identity.resource_version, "7");
    for whole in [r#"{"metadata":{"name":"a"}}"#, "{}", "[1]", "no JSON"] {
        assert_eq!(without_managed_fields(whole), whole);
    }
}
