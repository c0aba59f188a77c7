//! Tests of objects that are made from templates.

use std::sync::Arc;

use engine::ExternalObject;
use engine::contract::resource_of;
use engine::external::{Clone, clone_template};
use serde_json::{Value, json};

fn template(spec: Value) -> ExternalObject {
    let object = json!({"metadata": {"name": "t"}, "spec": spec});
    ExternalObject {
        object: Arc::new(serde_json::from_value(object).expect("an object")),
        resource: resource_of("bootstrap.example.io/v2", "ConfigTemplate"),
        contract: "v1beta2",
    }
}

fn clone() -> Clone {
    let labels = [("mine".to_owned(), "yes".to_owned())].into();
    Clone { name: "c".to_owned(), namespace: "ns".to_owned(), labels, ..Clone::default() }
}

/// Columns: the template's spec, and that of the object.
#[test]
fn a_template_says_what_the_object_has() {
    for (spec, made) in [
        (json!({"template": {"spec": {"size": 1}}}), json!({"size": 1})),
        (json!({"template": {"metadata": {"labels": {"theirs": "yes"}}}}), Value::Null),
        (json!({"template": {}}), Value::Null),
        (json!({"template": null}), Value::Null),
        (json!({}), Value::Null),
        (Value::Null, Value::Null),
    ] {
        let (object, resource) = clone_template(&template(spec.clone()), clone()).expect("it can be made");
        assert_eq!(object.data.get("spec").cloned().unwrap_or_default(), made, "{spec}");
        assert_eq!((resource.kind.as_str(), resource.plural.as_str()), ("Config", "configs"));
        let labels = object.metadata.labels.unwrap_or_default();
        assert_eq!(labels.contains_key("theirs"), spec.to_string().contains("theirs"), "{spec}");
        assert_eq!(labels["mine"], "yes");
        let annotations = object.metadata.annotations.unwrap_or_default();
        assert_eq!(annotations["cluster.x-k8s.io/cloned-from-name"], "t");
    }
    let error = clone_template(&template(json!({"template": []})), clone()).expect_err("a list");
    assert_eq!(error.to_string(), "spec.template of ConfigTemplate t is not an object");
}
