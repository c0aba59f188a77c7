//! `x-kubernetes-validations` of a schema: form, types, and where `oldSelf` means something.

use serde_json::Value;

use super::{invalid, required, unsupported};
use crate::cel::check::{RuleProblem, field_path, problems, uses_old_self};
use crate::field::{FieldError, FieldErrorKind};
use crate::schema::{ListType, Rule, Schema};

/// Checks the rules of the schema and everything below it.
pub(super) fn validate(schema: &Schema, source: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(schema, source, path, Place { root: true, uncorrelatable: None }, &mut errors);
    errors
}

#[derive(Clone, Copy)]
struct Place<'a> {
    root: bool,
    /// The list above, below which items have no counterpart in the old object.
    uncorrelatable: Option<&'a str>,
}

fn walk(schema: &Schema, source: &Value, path: &str, place: Place<'_>, errors: &mut Vec<FieldError>) {
    if !schema.has_rules {
        return;
    }
    let own = errors.len();
    for (i, rule) in schema.rules.iter().enumerate() {
        form(schema, rule, &format!("{path}.x-kubernetes-validations[{i}]"), errors);
    }
    if errors.len() == own {
        for (i, rule) in schema.rules.iter().enumerate() {
            meaning(schema, rule, &format!("{path}.x-kubernetes-validations[{i}]"), place, errors);
        }
    }
    let child = |key: &str| source.get(key).unwrap_or(&Value::Null);
    for (name, property) in &schema.properties {
        let source = child("properties").get(name).unwrap_or(&Value::Null);
        let place = Place { root: false, ..place };
        walk(property, source, &format!("{path}.properties[{name}]"), place, errors);
    }
    if let Some(additional) = &schema.additional_properties {
        let place = Place { root: false, ..place };
        walk(
            additional,
            child("additionalProperties"),
            &format!("{path}.additionalProperties"),
            place,
            errors,
        );
    }
    if let Some(items) = &schema.items {
        let correlates = schema.list_type == Some(ListType::Map);
        let uncorrelatable = place.uncorrelatable.or((!correlates).then_some(path));
        walk(items, child("items"), &format!("{path}.items"), Place { root: false, uncorrelatable }, errors);
    }
}

/// What can be said of a rule without compiling it.
fn form(schema: &Schema, rule: &Rule, path: &str, errors: &mut Vec<FieldError>) {
    const REASONS: [&str; 4] =
        ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
    let lines = |text: &str| text.contains(['\n', '\r']);
    let message = rule.message.as_deref().unwrap_or_default();
    let source = rule.rule.trim();
    if source.is_empty() {
        errors.push(required(format!("{path}.rule"), "rule is not specified"));
    } else if !message.is_empty() && message.trim().is_empty() {
        errors.push(invalid(format!("{path}.message"), &message.into(), "must be non-empty if specified"));
    } else if lines(message.trim()) {
        errors.push(invalid(format!("{path}.message"), &message.into(), "must not contain line breaks"));
    } else if lines(source) && message.trim().is_empty() {
        let detail = "message must be specified if rule contains line breaks";
        errors.push(required(format!("{path}.message"), detail));
    }
    if rule.message_expression.as_deref().is_some_and(|text| text.trim().is_empty()) {
        errors.push(required(format!("{path}.messageExpression"), "must be non-empty if specified"));
    }
    if let Some(reason) = rule.reason.as_deref().filter(|reason| !REASONS.contains(reason)) {
        errors.push(unsupported(format!("{path}.reason"), &reason.into(), &REASONS));
    }
    let Some(at) = rule.field_path.as_deref() else { return };
    let field = format!("{path}.fieldPath");
    if at.trim().is_empty() {
        errors.push(invalid(field, &at.into(), "must be non-empty if specified"));
    } else if lines(at) {
        errors.push(invalid(field, &at.into(), "must not contain line breaks"));
    } else if field_path(schema, at).is_none() {
        errors.push(invalid(field, &at.into(), "must be a valid path"));
    }
}

fn meaning(schema: &Schema, rule: &Rule, path: &str, place: Place<'_>, errors: &mut Vec<FieldError>) {
    let show = |field: String, detail: String| FieldError {
        kind: FieldErrorKind::Invalid,
        field,
        value: Some(internal(rule)),
        detail,
    };
    for problem in problems(schema, rule, place.root) {
        match problem {
            RuleProblem::Rule(why) => errors.push(show(format!("{path}.rule"), why)),
            RuleProblem::MessageExpression(why) => {
                errors.push(show(format!("{path}.messageExpression"), why))
            }
            RuleProblem::OptionalOldSelf => {
                let detail = "may not be set if oldSelf is not used in rule";
                errors.push(invalid(
                    format!("{path}.optionalOldSelf"),
                    &rule.optional_old_self.into(),
                    detail,
                ));
            }
            RuleProblem::FieldPath => {}
        }
    }
    if let Some(list) = place.uncorrelatable.filter(|_| uses_old_self(&rule.rule)) {
        let detail =
            format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {list}");
        errors.push(invalid(format!("{path}.rule"), &rule.rule.as_str().into(), detail));
    }
}

/// The rule as Go writes the internal type: fields in the order of the struct, HTML escaped.
fn internal(rule: &Rule) -> String {
    let text = |text: &str| {
        let json = Value::from(text).to_string();
        json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
    };
    let reason = rule.reason.as_deref().map_or("null".to_owned(), text);
    let optional = if rule.optional_old_self { "true" } else { "null" };
    format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{reason},\"FieldPath\":{},\
         \"OptionalOldSelf\":{optional}}}",
        text(&rule.rule),
        text(rule.message.as_deref().unwrap_or_default()),
        text(rule.message_expression.as_deref().unwrap_or_default()),
        text(rule.field_path.as_deref().unwrap_or_default()),
    )
}
