//! Validation of the schema of a value that is no object of its own, such as a variable of Cluster API's classes.

use cel::Rules;
use machinery::field::FieldError;
use machinery::pattern;
use machinery::schema::Schema;
use serde_json::Value;

use super::errors::invalid;
use super::{defaults, keywords, rules, structural};

/// Validates the schema of a value inside an object: keywords, structure, defaults, and rules with their cost. `path` is the
/// place of the schema. Types other than `object` are allowed, and there is no `metadata`.
pub fn validate_value_schema(source: &Value, path: &str) -> Vec<FieldError> {
    pattern::limited(|| validate(source, path))
}

fn validate(source: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = keywords::validate_value(source, path);
    if !errors.is_empty() {
        return errors;
    }
    let schema = match Schema::parse(source) {
        Ok(schema) => schema,
        Err(problem) => return vec![invalid(path, &"".into(), problem.to_string())],
    };
    errors.extend(structural::validate_value(source, path));
    if errors.is_empty() {
        errors.extend(rules::validate_value(&schema, source, path));
    }
    if errors.is_empty() {
        errors.extend(defaults::validate_value(&schema, &Rules::of(&schema), path));
    }
    errors
}
