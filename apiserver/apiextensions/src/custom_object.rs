//! Validation of custom objects: types and values, embedded resources, sets and maps, and CEL rules.

use std::ops::Deref;

use cel::{Known, Rules};
use machinery::field::{FieldError, FieldErrorKind};
use machinery::schema::{
    Schema, SchemaError, prune_defaults, validate_embedded, validate_lists, validate_part, validate_values,
};
use serde_json::Value;

/// The schema of one version of a custom resource, with its CEL rules, which are compiled at their first use.
#[derive(Debug, Default)]
pub struct CompiledSchema {
    schema: Schema,
    rules: Rules,
}

impl Deref for CompiledSchema {
    type Target = Schema;

    fn deref(&self) -> &Schema {
        &self.schema
    }
}

impl From<Schema> for CompiledSchema {
    fn from(schema: Schema) -> Self {
        Self { rules: Rules::of(&schema), schema }
    }
}

impl CompiledSchema {
    /// Parses `openAPIV3Schema`.
    ///
    /// # Errors
    /// As [`Schema::parse`].
    pub fn parse(source: &Value) -> Result<Self, SchemaError> {
        let mut schema = Schema::parse(source)?;
        prune_defaults(&mut schema);
        Ok(Self::from(schema))
    }

    /// Validates a custom resource except its `metadata`: types and values, embedded resources, sets and maps, and CEL
    /// rules. `old` is the object before an update.
    ///
    /// `errors` are the errors found so far, in `metadata`. Some kinds of errors prevent the evaluation of the rules.
    pub fn validate(
        &self,
        new: &Value,
        old: Option<&Value>,
        mut errors: Vec<FieldError>,
        known: Known,
    ) -> Vec<FieldError> {
        errors.extend(validate_values(&self.schema, new, old));
        self.validate_beyond_values(new, old, errors, known)
    }

    /// Validates like [`Self::validate`], but without types and values, as for an object whose `kind` is not that of its
    /// resource.
    pub fn validate_beyond_values(
        &self,
        new: &Value,
        old: Option<&Value>,
        mut errors: Vec<FieldError>,
        known: Known,
    ) -> Vec<FieldError> {
        errors.extend(validate_embedded(&self.schema, new));
        errors.extend(self.validate_lists(new, old));
        errors.extend(self.validate_rules(new, old, &errors, known));
        errors
    }

    /// Validates a write to `/status`, where only `status` is relevant.
    pub fn validate_status(
        &self,
        new: &Value,
        old: Option<&Value>,
        mut errors: Vec<FieldError>,
        known: Known,
    ) -> Vec<FieldError> {
        let (Some(schema), Some(status)) = (self.schema.properties.get("status"), new.get("status")) else {
            return errors;
        };
        let old_status = old.and_then(|old| old.get("status"));
        errors.extend(validate_part(schema, "status", status, old_status));
        errors.extend(self.validate_lists(new, old));
        errors.extend(self.validate_rules(new, old, &errors, Known { status_only: true, ..known }));
        errors
    }

    /// Returns the violations of rules in values that an update left unchanged. The server reports them as warnings.
    pub fn ratcheted(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        self.rules.ratcheted(&self.schema, new, old)
    }

    /// Validates lists. An update of an object with invalid lists may leave lists invalid.
    fn validate_lists(&self, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let errors = validate_lists(&self.schema, new);
        let before = || old.is_some_and(|old| !validate_lists(&self.schema, old).is_empty());
        if errors.is_empty() || before() { Vec::new() } else { errors }
    }

    fn validate_rules(
        &self,
        new: &Value,
        old: Option<&Value>,
        errors: &[FieldError],
        known: Known,
    ) -> Vec<FieldError> {
        if !self.schema.has_rules {
            return Vec::new();
        }
        if rules_blocked(errors) {
            let detail = "some validation rules were not checked because the object was invalid; correct the \
                          existing errors to complete validation";
            return vec![FieldError::new(FieldErrorKind::Invalid, "", &Value::Null, detail)];
        }
        self.rules.validate(&self.schema, new, old, known)
    }
}

/// Returns whether the errors prevent the evaluation of the rules, which could fail because of them.
pub fn rules_blocked(errors: &[FieldError]) -> bool {
    errors.iter().any(|error| {
        matches!(
            error.kind,
            FieldErrorKind::NotSupported
                | FieldErrorKind::Required
                | FieldErrorKind::TooLong
                | FieldErrorKind::TooMany
                | FieldErrorKind::TypeInvalid
        )
    })
}
