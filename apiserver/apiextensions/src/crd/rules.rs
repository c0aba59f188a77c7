//! Validation of `x-kubernetes-validations`: form, types, cost, and uses of `oldSelf`.

use cel::limits::{MAX_CEL_ESTIMATE, MAX_CEL_SCHEMA_ESTIMATE};
use cel::{RuleProblem, problems};
use machinery::field::{FieldError, FieldErrorKind};
use machinery::schema::sizes::occurrences;
use machinery::schema::{Kind, ListType, Rule, Schema, field_path};
use serde_json::Value;

use super::errors::{forbidden, invalid, required, unsupported};

/// Validates the rules of the schema and of all nodes below it. A stored schema (`unchanged`) is not refused because of
/// its cost.
pub(super) fn validate(schema: &Schema, source: &Value, path: &str, unchanged: bool) -> Vec<FieldError> {
    validate_at(schema, source, path, true, unchanged)
}

/// Validates the rules of the schema of a value inside an object.
pub(super) fn validate_value(schema: &Schema, source: &Value, path: &str) -> Vec<FieldError> {
    validate_at(schema, source, path, false, false)
}

fn validate_at(schema: &Schema, source: &Value, path: &str, root: bool, unchanged: bool) -> Vec<FieldError> {
    let mut found = Found { limited: !unchanged, ..Found::default() };
    walk(schema, source, path, Place { root, uncorrelatable: None, count: Some(1) }, &mut found);
    let Found { mut errors, costs, .. } = found;
    if !unchanged {
        errors.extend(costs.errors(path));
    }
    errors
}

#[derive(Clone, Copy)]
struct Place<'a> {
    root: bool,
    /// The path of the outermost list around this node whose items do not correlate with those of the old object.
    uncorrelatable: Option<&'a str>,
    /// The maximum number of values of the schema in an object, according to the limits of the schemas above it; `None`
    /// without a limit.
    count: Option<u64>,
}

/// The results of the walk.
#[derive(Default)]
struct Found {
    errors: Vec<FieldError>,
    costs: Costs,
    /// Whether expensive rules are refused.
    limited: bool,
}

fn walk(schema: &Schema, source: &Value, path: &str, place: Place<'_>, found: &mut Found) {
    if !schema.has_rules {
        return;
    }
    let errors = &mut found.errors;
    let own = errors.len();
    // Without a type, a rule cannot be compiled. The error for the missing type is sufficient, unless the type may be
    // missing.
    let typeless = schema.kind.is_none() && !schema.int_or_string;
    if typeless && schema.preserve_unknown_fields && !schema.rules.is_empty() {
        let why = "internal error: failed to construct type information for x-kubernetes-validations rules: \
                   unable to convert structural schema to CEL declarations";
        let field = format!("{path}.x-kubernetes-validations");
        errors.push(FieldError::bare(FieldErrorKind::InternalError, field, why));
    }
    let own_rules = if typeless { &[][..] } else { &schema.rules[..] };
    for (i, rule) in own_rules.iter().enumerate() {
        form(schema, rule, &format!("{path}.x-kubernetes-validations[{i}]"), errors);
    }
    if errors.len() == own {
        for (i, rule) in own_rules.iter().enumerate() {
            meaning(schema, rule, &format!("{path}.x-kubernetes-validations[{i}]"), place, found);
        }
    }
    let count = place.count.zip(most(schema)).map(|(count, factor)| count.saturating_mul(factor));
    let place = Place { root: false, count, ..place };
    let child = |key: &str| source.get(key).unwrap_or(&Value::Null);
    for (name, property) in &schema.properties {
        let source = child("properties").get(name).unwrap_or(&Value::Null);
        walk(property, source, &format!("{path}.properties[{name}]"), place, found);
    }
    if let Some(additional) = &schema.additional_properties {
        let path = format!("{path}.additionalProperties");
        walk(additional, child("additionalProperties"), &path, place, found);
    }
    if let Some(items) = &schema.items {
        let correlates = schema.list_type == Some(ListType::Map);
        let uncorrelatable = place.uncorrelatable.or((!correlates).then_some(path));
        walk(items, child("items"), &format!("{path}.items"), Place { uncorrelatable, ..place }, found);
    }
}

/// Validates a rule as far as this is possible without compiling it.
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
    if rule.message_expression.as_deref().is_some_and(|text| !text.is_empty() && text.trim().is_empty()) {
        let why = "messageExpression must be non-empty if specified";
        errors.push(required(format!("{path}.messageExpression"), why));
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
    } else if field_path::find(schema, at, true).is_err() {
        errors.push(invalid(field, &at.into(), "must be a valid path"));
    }
}

/// Returns the maximum number of values directly below a value of the schema, or `None` without a limit.
fn most(schema: &Schema) -> Option<u64> {
    match schema.kind {
        Some(Kind::Object) if schema.additional_properties.is_some() => schema.validation.max_properties,
        Some(Kind::Array) => schema.validation.max_items,
        _ => Some(1),
    }
}

fn meaning(schema: &Schema, rule: &Rule, path: &str, place: Place<'_>, found: &mut Found) {
    let (problems, costs) = problems(schema, rule, place.root);
    let count = place.count.unwrap_or_else(|| occurrences(schema, place.root));
    found.cost(format!("{path}.rule"), "estimated rule cost", costs.rule.saturating_mul(count));
    let errors = &mut found.errors;
    let show = |field: String, detail: String| FieldError {
        kind: FieldErrorKind::Invalid,
        field,
        value: Some(internal(rule)),
        detail,
    };
    for problem in problems {
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
    if let Some(cost) = costs.message {
        found.cost(format!("{path}.messageExpression"), "estimated messageExpression cost", cost);
    }
    if let Some(list) = place.uncorrelatable.filter(|_| costs.uses_old_self) {
        let detail =
            format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {list}");
        found.errors.push(invalid(format!("{path}.rule"), &rule.rule.as_str().into(), detail));
    }
}

impl Found {
    /// Records the cost of an expression for a whole object.
    fn cost(&mut self, field: String, what: &str, cost: u64) {
        if self.limited && cost > MAX_CEL_ESTIMATE {
            self.errors.push(forbidden(field.clone(), too_expensive(what, cost, MAX_CEL_ESTIMATE)));
        }
        self.costs.add(field, cost);
    }
}

/// The total cost of the rules of one schema.
#[derive(Default)]
struct Costs {
    total: u64,
    /// The most expensive rules that contribute to the total, in descending order of cost.
    most: Vec<(String, u64)>,
}

impl Costs {
    /// Maximum number of rules that are named if the total cost is too high.
    const NAMED: usize = 4;

    fn add(&mut self, field: String, cost: u64) {
        self.total = self.total.saturating_add(cost);
        if cost >= MAX_CEL_SCHEMA_ESTIMATE / 100 {
            self.most.push((field, cost));
            self.most.sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
            self.most.truncate(Self::NAMED);
        }
    }

    fn errors(self, path: &str) -> Vec<FieldError> {
        if self.total <= MAX_CEL_SCHEMA_ESTIMATE {
            return Vec::new();
        }
        let part =
            "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
        let whole = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        let named = self.most.into_iter().map(|(field, _)| forbidden(field, part));
        let total = forbidden(path, too_expensive(whole, self.total, MAX_CEL_SCHEMA_ESTIMATE));
        named.chain([total]).collect()
    }
}

fn too_expensive(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, \
         maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )
}

/// Returns the rule as Go encodes the internal type: fields in the order of the struct, HTML characters escaped.
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
