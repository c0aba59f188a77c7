//! Tests of CEL: evaluation, costs, error messages, and rules that try to exhaust the server.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cost;
mod depth;
mod language;
mod library;
mod mutation;
mod program;
mod types;
mod work;

use cel::{Known, Rules};
use machinery::field::FieldError;
use machinery::schema::Schema;
use serde_json::Value;

/// Evaluates the rules of a schema on a value.
fn validate(schema: &Schema, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    Rules::of(schema).validate(schema, new, old, Known::default())
}
