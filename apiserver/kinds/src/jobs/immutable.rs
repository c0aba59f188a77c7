//! The fields of a Job that an update must not change.

use machinery::field::FieldError;
use serde_json::Value;

use crate::fields::{internal, invalid};

/// Returns errors for changes that an update of a Job must not make.
pub(crate) fn kept(spec: &Value, old: &Value) -> Vec<FieldError> {
    let before = &old["spec"];
    let mut errors = Vec::new();
    if spec["completions"] != before["completions"] {
        let elastic = spec["completionMode"] == "Indexed";
        if elastic && spec["completions"].is_null() {
            // [`job`] already reports missing completions.
        } else if !elastic {
            errors.push(invalid("spec.completions", spec["completions"].clone(), "field is immutable"));
        } else if spec["completions"] != spec["parallelism"] {
            let why = "can only be modified in tandem with spec.parallelism";
            errors.push(invalid("spec.completions", spec["completions"].clone(), why));
        }
    }
    if spec["managedBy"] != before["managedBy"] {
        errors.push(invalid("spec.managedBy", spec["managedBy"].clone(), "field is immutable"));
    }
    if spec["successPolicy"] != before["successPolicy"] {
        let policy = &spec["successPolicy"];
        errors.push(internal(
            "spec.successPolicy".into(),
            "?batch.SuccessPolicy",
            policy,
            "field is immutable",
        ));
    }
    // The scheduling fields of a Job that is suspended and has not started may change.
    let idle = before["suspend"] == true && old["status"]["startTime"].is_null();
    let template = |spec: &Value| {
        let mut template = spec["template"].clone();
        if idle {
            for field in ["nodeSelector", "affinity", "tolerations", "schedulingGates"] {
                template["spec"][field] = Value::Null;
            }
            template["metadata"]["labels"] = Value::Null;
            template["metadata"]["annotations"] = Value::Null;
            for list in ["containers", "initContainers"] {
                for container in
                    template["spec"].get_mut(list).and_then(Value::as_array_mut).into_iter().flatten()
                {
                    container["resources"] = Value::Null;
                }
            }
        }
        template
    };
    if spec["podFailurePolicy"] != before["podFailurePolicy"] {
        let (field, policy) = ("spec.podFailurePolicy".to_owned(), &spec["podFailurePolicy"]);
        errors.push(internal(field, "?batch.PodFailurePolicy", policy, "field is immutable"));
    }
    if template(spec) != template(before) {
        let why = "field is immutable";
        let (field, ty, value) = match idle {
            true => ("spec.template.spec", "core.PodSpec", &spec["template"]["spec"]),
            false => ("spec.template", "core.PodTemplateSpec", &spec["template"]),
        };
        errors.push(internal(field.into(), ty, value, why));
    }
    errors
}
