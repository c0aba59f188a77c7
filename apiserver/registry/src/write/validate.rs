//! Validation of an object against its schema and the rules of its kind.

use apiextensions::rules_blocked;
use cel::Known;
use kinds::Subresource;
use kinds::definition::Structure;
use kinds::strategy::Strategy;
use machinery::field::{FieldError, FieldErrorKind};
use machinery::limits::MAX_FIELD_ERRORS;
use machinery::meta;
use serde_json::Value;

use super::metadata;
use crate::target::Target;
use crate::versions::definitions::Served;

/// Returns warnings about allowed but probably unintended values in objects of built-in kinds.
pub(crate) fn warnings(target: &Target<'_>, object: &Value, old: Option<&Value>) -> Vec<String> {
    let definition = &target.served.definition;
    if !definition.built_in || target.subresource != Subresource::None {
        return Vec::new();
    }
    kinds::warnings(&definition.group, &definition.kind, object, old)
}

/// Returns how often the validation of the kind repeats the validation of labels, annotations and owners, and of
/// finalizers ([`Strategy::metadata_repeats`]). Status updates repeat each at most once.
fn metadata_repeats(strategy: &dyn Strategy, subresource: Subresource) -> (usize, usize) {
    let (content, finalizers) = strategy.metadata_repeats();
    match subresource {
        Subresource::Status if !strategy.status_repeats_metadata() => (0, 0),
        Subresource::Status => (content.min(1), finalizers.min(1)),
        _ => (content, finalizers),
    }
}

/// Validates an object with its schema and the rules of its kind. `old` is the object before an update; `holds` says
/// that it is known to satisfy all rules.
pub(crate) fn validate(
    target: &Target<'_>,
    object: &Value,
    old: Option<&Value>,
    holds: bool,
) -> Vec<FieldError> {
    let known = Known { old_holds: holds, ..Known::default() };
    let served = target.served;
    let strategy = served.strategy();
    let definition = &served.definition;
    if let Some(error) = other_kind(served, object) {
        let mut errors = old.map_or_else(Vec::new, |old| metadata::validate_update(object, old));
        errors.push(error);
        return match &served.version.schema {
            Structure::Written(schema) => schema.validate_beyond_values(object, old, errors, known),
            Structure::Known(_) => errors,
        };
    }
    let mut errors = match old {
        None => metadata::validate(object, definition.namespaced, strategy),
        // A real API server validates metadata for all kinds, and again in the validation of the kind, and reports
        // errors repeatedly.
        Some(old) => {
            let errors = metadata::validate_update(object, old);
            if errors.len() >= MAX_FIELD_ERRORS {
                return errors;
            }
            let mut errors = [errors.clone(), errors].concat();
            let (content, finalizers) = metadata_repeats(strategy, target.subresource);
            // If there are no errors so far, repeated validation finds none.
            let content = if errors.is_empty() { 0 } else { content };
            for _ in 0..content {
                errors.extend(metadata::validate_content(object));
            }
            for _ in 0..finalizers {
                metadata::unqualified_finalizers(object, &mut errors);
            }
            errors
        }
    };
    if errors.len() >= MAX_FIELD_ERRORS {
        return errors;
    }
    if definition.built_in {
        errors.extend(match old {
            None => strategy.validate(object),
            Some(old) => match target.subresource {
                Subresource::None | Subresource::Scale | Subresource::Finalize => {
                    strategy.validate_update(object, old)
                }
                Subresource::Status => strategy.validate_status_update(object, old),
                part => strategy.validate_part_update(part, object, old),
            },
        });
        return errors;
    }
    let Structure::Written(schema) = &served.version.schema else { return errors };
    match (target.subresource, old) {
        (Subresource::Status, Some(_)) => {
            let mut errors = schema.validate_status(object, old, errors, known);
            errors.extend(crate::verbs::scale::validate::validate_status(&served.version, object));
            errors
        }
        _ => {
            let mut errors = schema.validate(object, old, errors, known);
            errors.extend(crate::verbs::scale::validate::validate(&served.version, object));
            errors
        }
    }
}

/// Returns an error for a custom object with a different `kind`.
fn other_kind(served: &Served, object: &Value) -> Option<FieldError> {
    let (kind, wanted) = (meta::kind(object), &served.definition.kind);
    let why = || format!("must be {wanted}");
    (!served.definition.built_in && kind != wanted)
        .then(|| FieldError::new(FieldErrorKind::Invalid, "kind", &kind.into(), why()))
}

/// Returns warnings for rules that the object violates like `old`, for example because a newer definition has added
/// them. Only for objects that are not known to satisfy all rules. Status updates are skipped: they are frequent, and
/// the last change of the rest has returned the same warnings.
pub(crate) fn ratcheted(
    target: &Target<'_>,
    object: &Value,
    old: &Value,
    errors: &[FieldError],
) -> Vec<String> {
    let served = target.served;
    let skipped = rules_blocked(errors);
    if served.definition.built_in || target.subresource == Subresource::Status || skipped {
        return Vec::new();
    }
    let Structure::Written(schema) = &served.version.schema else { return Vec::new() };
    schema.ratcheted(object, old).iter().map(ToString::to_string).collect()
}
