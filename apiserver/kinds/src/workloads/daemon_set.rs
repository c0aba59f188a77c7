//! DaemonSets.

use machinery::field::FieldError;
use machinery::meta;
use serde_json::{Map, Value, json};

use super::counters;
use super::template::{at_most_all, is_zero, rolling, same_selector, validate};
use crate::fields::{invalid, required};
use crate::pods::defaults::default_template;
use crate::pods::gated::drop_gated;
use crate::strategy::rules::{NONE, Rules};

/// `apps/v1` DaemonSet.
pub(crate) const DAEMON_SET: Rules = Rules {
    drop_gated: |object| drop_gated(object, "/spec/template/spec"),
    normalize: |object| {
        default_template(&mut object["spec"]["template"]);
        rolling(&mut object["spec"]["updateStrategy"], &json!({"maxUnavailable": 1, "maxSurge": 0}));
        if template_generation(object).is_none() {
            set_template_generation(object, 0);
        }
    },
    prepare: |object| set_template_generation(object, 1),
    prepare_update: |object, old| {
        let before = template_generation(old).unwrap_or(1);
        let changed = object["spec"]["template"] != old["spec"]["template"];
        set_template_generation(object, before + i64::from(changed));
    },
    validate: |object| {
        let mut errors = validate(object, "daemonset");
        errors.extend(update_of_daemons(&object["spec"]["updateStrategy"]));
        errors
    },
    immutable: same_selector,
    status: Some(counters::of_daemon_set),
    ..NONE
};

/// The annotation that counts changes of a DaemonSet's template. It is older than `metadata.generation`.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

fn template_generation(object: &Value) -> Option<i64> {
    object["metadata"]["annotations"][TEMPLATE_GENERATION].as_str()?.parse().ok()
}

fn set_template_generation(object: &mut Value, generation: i64) {
    let Some(metadata) = meta::metadata_mut(object) else { return };
    let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new()));
    annotations[TEMPLATE_GENERATION] = generation.to_string().into();
}

fn update_of_daemons(strategy: &Value) -> Vec<FieldError> {
    let path = "spec.updateStrategy";
    let rolling = &strategy["rollingUpdate"];
    let field = |name: &str| format!("{path}.rollingUpdate.{name}");
    match strategy["type"].as_str() {
        Some("OnDelete") => Vec::new(),
        Some("RollingUpdate") => match (is_zero(&rolling["maxUnavailable"]), is_zero(&rolling["maxSurge"])) {
            (true, true) => vec![required(field("maxUnavailable"), "cannot be 0 when maxSurge is 0")],
            (false, false) => {
                let why = "may not be set when maxUnavailable is non-zero";
                vec![invalid(field("maxSurge"), rolling["maxSurge"].clone(), why)]
            }
            _ => ["maxUnavailable", "maxSurge"]
                .iter()
                .filter_map(|name| at_most_all(&rolling[*name], &field(name)))
                .collect(),
        },
        _ => {
            let allowed = ["RollingUpdate".into(), "OnDelete".into()];
            let mut error = FieldError::not_supported(path, &Value::Null, &allowed);
            let rolling = match rolling.is_object() {
                true => format!(
                    "{{\"MaxUnavailable\":{},\"MaxSurge\":{}}}",
                    rolling["maxUnavailable"], rolling["maxSurge"]
                ),
                false => "null".to_owned(),
            };
            error.value = Some(format!("{{\"Type\":{},\"RollingUpdate\":{rolling}}}", strategy["type"]));
            vec![error]
        }
    }
}
