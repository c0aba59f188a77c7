//! The state of one validation: the errors found, their fields, and the work done.

use std::cell::Cell;

use serde_json::Value;

use crate::field::{FieldError, FieldErrorKind};
use crate::limits::{MAX_FIELD_ERRORS, MAX_VALIDATION_WORK};

/// Errors, and the number of successful checks. If all alternatives fail, the errors of the one with the most successes
/// are reported.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) errors: Vec<FieldError>,
    pub(super) matches: usize,
}

impl Outcome {
    pub(super) fn merge(&mut self, other: Outcome) {
        let room = MAX_FIELD_ERRORS.saturating_sub(self.errors.len());
        self.errors.extend(other.errors.into_iter().take(room));
        self.matches += other.matches;
    }

    pub(super) fn is_full(&self) -> bool {
        self.errors.len() >= MAX_FIELD_ERRORS
    }

    pub(super) fn one(error: FieldError) -> Self {
        Self { errors: vec![error], matches: 0 }
    }
}

/// How errors name the fields of an object.
pub(super) struct Fields<'a> {
    /// The path that is prepended to the fields of errors, but not to the paths in messages.
    prefix: &'a str,
}

impl Fields<'_> {
    pub(super) fn name(&self, path: &str) -> String {
        match (self.prefix, path) {
            ("", path) => path.to_owned(),
            (prefix, "") => prefix.to_owned(),
            (prefix, path) => format!("{prefix}.{}", path.trim_start_matches('.')),
        }
    }

    /// Returns an error whose message begins with the field's name.
    pub(super) fn error(&self, kind: FieldErrorKind, path: &str, value: &Value, what: &str) -> FieldError {
        FieldError::new(kind, self.name(path), value, format!("{path} in body {what}"))
    }

    /// Returns an error that belongs to no field.
    pub(super) fn plain(&self, what: String) -> FieldError {
        FieldError::new(FieldErrorKind::Invalid, self.prefix, &"".into(), what)
    }
}

pub(super) struct Run<'a> {
    fields: Fields<'a>,
    /// The work done, in values and text. Each alternative of a schema walks the whole value again.
    work: Cell<u64>,
}

impl<'a> Run<'a> {
    pub(super) fn new(prefix: &'a str) -> Self {
        Self { fields: Fields { prefix }, work: Cell::new(0) }
    }

    pub(super) fn fields(&self) -> &Fields<'a> {
        &self.fields
    }

    /// Counts a value of `bytes` bytes. Returns false if the work exceeds its limit.
    pub(super) fn pay(&self, bytes: usize) -> bool {
        self.work.set(self.work.get() + 1 + bytes as u64 / 8);
        self.work.get() <= MAX_VALIDATION_WORK
    }
}
