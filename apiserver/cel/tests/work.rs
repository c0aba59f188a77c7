//! Tests that the work of rules is linear in their size, or limited by a budget.

use cel::limits::MAX_CEL_PROBLEMS_TEXT;
use machinery::schema::{Rule, Schema};
use serde_json::{Value, json};

use crate::cel::validate;

/// Returns the error of a rule when its definition is written, or when it is evaluated.
fn rule(text: &str, value: &Value) -> String {
    let rule = Rule { rule: text.to_owned(), ..Rule::default() };
    let source = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"},
        "l": {"type": "array", "items": {"type": "string"}}, "o": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
    let mut schema = Schema::parse(&source).unwrap();
    if let Some(problem) = cel::problems(&schema, &rule, true).0.first() {
        return format!("{problem:?}");
    }
    schema.rules = vec![rule];
    schema.has_rules = true;
    validate(&schema, value, None).first().map(ToString::to_string).unwrap_or_default()
}

#[test]
fn rules_end() {
    let long = "a".repeat(1_000_000);
    let value = json!({"a": long, "b": long, "l": vec!["x".repeat(100); 10_000]});
    let times = |text: &str| text.repeat(60);
    for text in [
        format!("[[1, 2]]{}.size() > 0", times(".map(x, x + x)")),
        format!("[[1]]{0} == [[1]]{0}", times(".map(x, [x, x])")),
        format!("'%s'.format([1]{}) == ''", times(".map(x, [x, x])")),
        format!("[[1]]{}.map(x, x.flatten(100)).size() > 0", times(".map(x, [x, x])")),
        format!("['a']{}.size() > 0", times(".map(x, x + x)")),
        "self.a.replace('', self.b).size() < 5".to_owned(),
        "self.a.split('').map(x, self.b).join(self.b).size() < 5".to_owned(),
        "self.l.map(x, self.a).join(self.b).size() < 5".to_owned(),
        "self.a.split('').size() == self.l.map(x, self.a.split('').size())[0] + 1".to_owned(),
        "self.l.all(x, self.l.all(y, self.l == self.l))".to_owned(),
        "self.l.all(x, lists.range(1000000).size() > 0)".to_owned(),
        "self.l.all(x, !self.b.matches('(' + x + '{900}){100}' + x))".to_owned(),
        "'%s'.format([self.l.map(x, self.a)]).size() < 5".to_owned(),
    ] {
        let found = rule(&text, &value);
        assert!(
            found.contains("cost limit exceeded") || found.contains("budget"),
            "{text:.80}: {found:.300}"
        );
    }
    // Types that contain other types twice are neither shown nor compared in full.
    assert!(rule(&format!("[1]{} + 1", times(".map(x, {x: x})")), &value).len() < 10_000);
    // Each term of the expression is an error.
    let wrong = rule(&("no||".repeat(20_000) + "no"), &value);
    assert!(
        wrong.len() < 5 * MAX_CEL_PROBLEMS_TEXT && wrong.contains("more errors were truncated"),
        "{}",
        wrong.len()
    );
}

#[test]
fn quantities_with_large_exponents() {
    for text in [
        "!isQuantity('1e-2147483648')",
        "!isQuantity('1e2147483647')",
        "quantity('1e30').isGreaterThan(quantity('1e-30'))",
        "quantity('1e256').isGreaterThan(quantity('12345678901234567890123456789012345678e200'))",
        "!isQuantity('1e257')",
    ] {
        assert_eq!(rule(text, &json!({})), "", "{text}");
    }
}
