//! ReplicationControllers.

use machinery::names::validate_labels;
use serde_json::Map;

use super::counters;
use super::template::{labels_of_template, of_template};
use crate::fields::{invalid, required};
use crate::pods::defaults::default_template;
use crate::pods::gated::drop_gated;
use crate::strategy::rules::{NONE, Rules};

/// `v1` ReplicationController.
pub(crate) const REPLICATION_CONTROLLER: Rules = Rules {
    drop_gated: |object| drop_gated(object, "/spec/template/spec"),
    normalize: |object| {
        default_template(&mut object["spec"]["template"]);
        let labels = object["spec"]["template"]["metadata"]["labels"].clone();
        if labels.is_object() && object["spec"]["selector"].is_null() {
            object["spec"]["selector"] = labels;
        }
        if let Some(spec) = object["spec"].as_object_mut()
            && spec.get("minReadySeconds").is_some_and(|seconds| *seconds == 0)
        {
            spec.remove("minReadySeconds");
        }
        labels_of_template(object);
    },
    validate: |object| {
        let (spec, mut errors) = (&object["spec"], Vec::new());
        let (selector, template) = (&spec["selector"], &spec["template"]);
        if selector.as_object().is_none_or(Map::is_empty) {
            errors.push(required("spec.selector", ""));
        }
        if template.is_null() {
            errors.push(required("spec.template", ""));
            return errors;
        }
        let labels = &template["metadata"]["labels"];
        errors.extend(validate_labels(Some(labels), "spec.template.labels"));
        let wanted = selector.as_object().into_iter().flatten();
        if !wanted.clone().all(|(key, value)| labels.get(key) == Some(value)) {
            let why = "`selector` does not match template `labels`";
            errors.push(invalid("spec.template.metadata.labels", labels.clone(), why));
        }
        errors.extend(of_template(spec, "ReplicationController"));
        errors
    },
    zeros: &[("status.replicas", "0")],
    status: Some(counters::of_replica_set),
    ..NONE
};
