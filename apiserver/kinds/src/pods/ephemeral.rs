//! Validation of the ephemeral containers of a pod.

use std::collections::BTreeSet;

use machinery::field::{FieldError, FieldErrorKind};
use serde_json::Value;

use super::containers::container;
use super::names;
use crate::fields::forbidden;

/// Fields that an ephemeral container must not set, in the order of the API type.
const NOT_FOR_EPHEMERAL: [&str; 8] = [
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
];

/// Validates the ephemeral containers of a pod.
pub(crate) fn check_ephemeral(pod: &container::Pod<'_>, errors: &mut Vec<FieldError>) {
    const WHY: &str = "cannot be set for an Ephemeral Container";
    let own = |name: &str| pod.spec[name].as_array().map(Vec::as_slice).unwrap_or_default();
    let name = |one: &Value| one["name"].as_str().unwrap_or_default().to_owned();
    let others: BTreeSet<String> = own("containers").iter().chain(own("initContainers")).map(name).collect();
    let mut seen = others.clone();
    for (index, one) in own("ephemeralContainers").iter().enumerate() {
        let path = format!("spec.ephemeralContainers[{index}]");
        names::check_name(&name(one), &format!("{path}.name"), &mut seen, errors);
        let mut plain = one.clone();
        if let Some(plain) = plain.as_object_mut() {
            plain.retain(|field, _| !NOT_FOR_EPHEMERAL.contains(&field.as_str()));
        }
        container::check(&plain, &path, pod, false, errors);
        let target = one["targetContainerName"].as_str().unwrap_or_default();
        if !target.is_empty() && !others.contains(target) {
            let field = format!("{path}.targetContainerName");
            errors.push(FieldError::new(FieldErrorKind::NotFound, field, &target.into(), ""));
        }
        let set = |field: &&&str| !crate::decode::empty(&one[**field]);
        errors.extend(
            NOT_FOR_EPHEMERAL.iter().filter(set).map(|field| forbidden(format!("{path}.{field}"), WHY)),
        );
        for (mount, found) in one["volumeMounts"].as_array().into_iter().flatten().enumerate() {
            for field in ["subPath", "subPathExpr"] {
                if !crate::decode::empty(&found[field]) {
                    errors.push(forbidden(format!("{path}.volumeMounts[{mount}].{field}"), WHY));
                }
            }
        }
    }
}
