//! CEL from outside: what rules evaluate to and cost, what is said of those that cannot be, and rules that nobody should write.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cost;
mod depth;
mod language;
mod library;
mod work;

use cel::{Known, Rules};
use machinery::field::FieldError;
use machinery::schema::Schema;
use serde_json::Value;

/// What the rules of a schema say of a value.
fn validate(schema: &Schema, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    Rules::of(schema).validate(schema, new, old, Known::default())
}
