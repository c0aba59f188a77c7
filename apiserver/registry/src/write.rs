//! Steps that create, update and patch share.

use apiextensions::rules_blocked;
use cel::Known;
use machinery::field::{FieldError, FieldErrorKind};
use machinery::meta;
use machinery::status::Status;
use serde_json::Value;

use crate::context::{Context, Subresource};
use crate::definition::Structure;
use crate::definitions::Served;
use crate::object_meta;
use crate::options::{Operation, Review};
use crate::registry::Registry;

/// The object of a request.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) served: &'a Served,
    /// The namespace; empty for cluster-scoped objects.
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) subresource: Subresource,
}

impl Target<'_> {
    pub(crate) fn key(&self) -> String {
        crate::keys::object(&self.served.definition, self.namespace, self.name)
    }

    pub(crate) fn not_found(&self) -> Status {
        Status::not_found(self.served.resource(), self.name)
    }

    pub(crate) fn modified(&self) -> Status {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Status::conflict(self.served.resource(), self.name, why)
    }

    /// Returns 422 if there are errors.
    pub(crate) fn refuse(&self, object: &Value, errors: &[FieldError]) -> Result<(), Status> {
        if errors.is_empty() {
            return Ok(());
        }
        let definition = &self.served.definition;
        if !definition.built_in {
            return Err(Status::invalid(&definition.group, meta::kind(object), self.name, errors));
        }
        // Events of both groups are validated in their stored version.
        let (group, _) = crate::keys::home(definition);
        Err(Status::invalid(group, &definition.kind, self.name, errors))
    }
}

/// Checks that name and namespace of the object match the path.
///
/// `name` is empty if the path has none.
pub(crate) fn check_identity(
    namespaced: bool,
    namespace: &str,
    name: &str,
    object: &Value,
) -> Result<(), Status> {
    let given = meta::name(object);
    if !name.is_empty() {
        if given.is_empty() {
            return Err(Status::bad_request(format!(
                "the name of the object ({name} based on URL) was undeterminable: name must be provided"
            )));
        }
        if given != name {
            return Err(Status::bad_request(format!(
                "the name of the object ({given}) does not match the name on the URL ({name})"
            )));
        }
    }
    let given = meta::namespace(object);
    if given != namespace && !given.is_empty() && namespaced {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(())
}

/// Like [`check_identity`], but also sets the namespace of the object.
pub(crate) fn identify(
    namespaced: bool,
    namespace: &str,
    name: &str,
    object: &mut Value,
) -> Result<(), Status> {
    check_identity(namespaced, namespace, name, object)?;
    if meta::namespace(object) != namespace
        && let Some(metadata) = meta::metadata_mut(object)
    {
        if namespaced {
            metadata.insert("namespace".into(), namespace.into());
        } else {
            metadata.remove("namespace");
        }
    }
    Ok(())
}

/// Returns warnings about allowed but probably unintended values in objects of built-in kinds.
pub(crate) fn warnings(target: &Target<'_>, object: &Value, old: Option<&Value>) -> Vec<String> {
    let definition = &target.served.definition;
    if !definition.built_in || target.subresource != Subresource::None {
        return Vec::new();
    }
    crate::strategy::warnings::of(&definition.group, &definition.kind, object, old)
}

/// Returns how often the validation of the kind repeats the validation of labels, annotations and owners, and of
/// finalizers ([`object_meta::again`]). Status updates repeat each at most once.
fn looks_again(target: &Target<'_>) -> (usize, usize) {
    let definition = &target.served.definition;
    let (content, finalizers) = object_meta::again(definition);
    match target.subresource {
        Subresource::Status if definition.kind == "CronJob" => (0, 0),
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
        let mut errors = old.map_or_else(Vec::new, |old| object_meta::validate_update(object, old));
        errors.push(error);
        return match &served.version.schema {
            Structure::Written(schema) => schema.validate_beyond_values(object, old, errors, known),
            Structure::Known(_) => errors,
        };
    }
    let mut errors = match old {
        None => object_meta::validate(object, definition.namespaced, strategy),
        // A real API server validates metadata for all kinds, and again in the validation of the kind, and reports
        // errors repeatedly.
        Some(old) => {
            let errors = object_meta::validate_update(object, old);
            let mut errors = [errors.clone(), errors].concat();
            let (content, finalizers) = looks_again(target);
            // If there are no errors so far, repeated validation finds none.
            let content = if errors.is_empty() { 0 } else { content };
            for _ in 0..content {
                errors.extend(object_meta::validate_content(object));
            }
            for _ in 0..finalizers {
                object_meta::unqualified_finalizers(object, &mut errors);
            }
            errors
        }
    };
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
            errors.extend(crate::scale::validate_status(&served.version, object));
            errors
        }
        _ => {
            let mut errors = schema.validate(object, old, errors, known);
            errors.extend(crate::scale::validate(&served.version, object));
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

impl Registry {
    /// Calls the embedder's rules and the mutating webhooks, which may change the object.
    pub(crate) async fn mutate(
        &self,
        context: &mut Context,
        target: &Target<'_>,
        operation: Operation,
        old: Option<&Value>,
        object: &mut Value,
    ) -> Result<(), Status> {
        for admission in &self.0.options.admission {
            let review = review(context, target, operation, old);
            let mut warnings = Vec::new();
            let answer = admission.mutate(&review, object, &mut warnings);
            context.warnings.extend(warnings);
            answer?;
        }
        self.call_mutating(context, target, operation, old, object).await
    }

    /// Calls the embedder's rules, the policies and the validating webhooks, which may refuse the write.
    pub(crate) async fn admit(
        &self,
        context: &mut Context,
        target: &Target<'_>,
        operation: Operation,
        old: Option<&Value>,
        object: &Value,
    ) -> Result<(), Status> {
        for admission in &self.0.options.admission {
            let review = review(context, target, operation, old);
            let mut warnings = Vec::new();
            let answer = admission.validate(&review, object, &mut warnings);
            context.warnings.extend(warnings);
            answer?;
        }
        self.call_validating(context, target, operation, old, object).await
    }
}

fn review<'a>(
    context: &'a Context,
    target: &Target<'a>,
    operation: Operation,
    old: Option<&'a Value>,
) -> Review<'a> {
    Review {
        served: target.served,
        subresource: target.subresource,
        operation,
        namespace: target.namespace,
        name: target.name,
        user: &context.user,
        dry_run: context.dry_run,
        old,
    }
}
