//! RuntimeClasses.

use std::collections::HashSet;

use machinery::field::FieldErrorKind;

use crate::fields::{internal, list};
use crate::pods::resources;
use crate::pods::scheduling::tolerates;
use crate::strategy::rules::{NONE, Rules};

/// `node.k8s.io/v1` RuntimeClass.
pub(crate) const RUNTIME: Rules = Rules {
    immutable_fields: &["handler"],
    validate: |class| {
        let mut errors = Vec::new();
        for (name, amount) in class["overhead"]["podFixed"].as_object().into_iter().flatten() {
            let path = format!("overhead.limits[{name}]");
            errors.extend(resources::of_container(name, &path));
            errors.extend(resources::amount(name, amount, &path));
        }
        let tolerations = list(&class["scheduling"], "tolerations");
        let mut seen = HashSet::new();
        for (index, toleration) in tolerations.iter().enumerate() {
            let path = format!("scheduling.tolerations[{index}]");
            tolerates(toleration, &path, &mut errors);
            if !seen.insert(toleration) {
                let mut error = internal(path, "core.Toleration", toleration, "");
                error.kind = FieldErrorKind::Duplicate;
                errors.push(error);
            }
        }
        errors
    },
    ..NONE
};
