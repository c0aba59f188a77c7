//! The options of writes: field manager, dry run, field validation.

use crate::limits;
use machinery::field::{FieldError, FieldErrorKind};
use machinery::status::Status;
use registry::{Context, FieldValidation};
use serde_json::Value;

use super::query::{Query, dry_run_errors, go_quote};

/// The options of a write.
#[derive(Debug)]
pub(crate) struct WriteOptions {
    pub(crate) field_manager: String,
    pub(crate) dry_run: bool,
    pub(crate) field_validation: FieldValidation,
    pub(crate) force: bool,
}

impl Query {
    /// Returns `dryRun`, `fieldManager` and `fieldValidation` of a write; `kind` is the options' kind, for
    /// example `PatchOptions`.
    ///
    /// # Errors
    /// 422 for invalid values.
    pub(crate) fn write_options(&self, kind: &str, apply: bool) -> Result<WriteOptions, Status> {
        let mut errors = Vec::new();
        let manager = self.get("fieldManager").unwrap_or_default();
        if apply && manager.is_empty() {
            let why = "is required for apply patch";
            errors.push(FieldError::bare(FieldErrorKind::Required, "fieldManager", why));
        }
        let force = self.flag("force");
        if kind == "PatchOptions" && !apply && force.is_some() {
            let why = "may not be specified for non-apply patch";
            errors.push(FieldError::bare(FieldErrorKind::Forbidden, "force", why));
        }
        field_manager_errors(manager, &mut errors);
        let dry_run = self.all("dryRun");
        dry_run_errors(&dry_run, &mut errors);
        let validation = match self.get("fieldValidation").unwrap_or_default() {
            "" | "Warn" => FieldValidation::Warn,
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            other => {
                let why = r#"supported values: "", "Ignore", "Strict", "Warn""#;
                let error =
                    FieldError::new(FieldErrorKind::NotSupported, "fieldValidation", &other.into(), why);
                errors.push(error);
                FieldValidation::Warn
            }
        };
        if !errors.is_empty() {
            return Err(Status::invalid("meta.k8s.io", kind, "", &errors));
        }
        Ok(WriteOptions {
            field_manager: manager.to_owned(),
            dry_run: !dry_run.is_empty(),
            field_validation: validation,
            force: force.unwrap_or(false),
        })
    }
}

/// Copies the options into the context of a request.
pub(crate) fn apply_options(context: &mut Context, options: WriteOptions) {
    context.field_manager = options.field_manager;
    context.dry_run = options.dry_run;
    context.field_validation = options.field_validation;
}

fn field_manager_errors(manager: &str, errors: &mut Vec<FieldError>) {
    if manager.len() > limits::FIELD_MANAGER_BYTES {
        let why = format!("may not be more than {} bytes", limits::FIELD_MANAGER_BYTES);
        errors.push(FieldError::bare(FieldErrorKind::TooLong, "fieldManager", why));
    }
    let invisible = manager.char_indices().find(|(_, c)| c.is_control());
    if let Some((at, character)) = invisible {
        let why = format!("invalid character U+{:04X} (at position {at})", u32::from(character));
        let mut error = FieldError::new(FieldErrorKind::Invalid, "fieldManager", &Value::Null, why);
        error.value = Some(go_quote(manager));
        errors.push(error);
    }
}
