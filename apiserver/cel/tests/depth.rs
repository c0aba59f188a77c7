//! Tests of deeply nested rules. At the limit they run on half the stack of a thread, and above it they are refused. A stack
//! overflow aborts the test program.

use cel::limits::{MAX_CEL_DEPTH, MAX_CEL_SOURCE};
use machinery::schema::{Rule, Schema};
use serde_json::json;

use crate::cel::validate;

/// Half the stack of a tokio worker thread (2 MiB), on which the server runs all of this code.
const STACK: usize = 1 << 20;

/// Runs `work` on a thread with half of the usual stack.
fn on_a_small_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().stack_size(STACK).spawn(work).unwrap().join().unwrap()
}

/// Returns text with `levels` levels around `inner`.
fn nested(before: &str, inner: &str, after: &str, levels: usize) -> String {
    [before.repeat(levels), inner.to_owned(), after.repeat(levels)].concat()
}

/// A rule with a number of nested levels, and their limit.
struct Case {
    name: &'static str,
    text: fn(usize) -> String,
    limit: usize,
}

fn check(cases: Vec<Case>, many: usize) {
    for Case { name, text, limit } in cases {
        let at = on_a_small_stack(move || rule(&text(limit)));
        assert_eq!(at, Ok(()), "{name} at the limit");
        for levels in [limit + 1, many] {
            let above = on_a_small_stack(move || rule(&text(levels))).unwrap_err();
            assert!(above.contains(TOO_DEEP), "{name} with {levels} levels: {above:.200}");
        }
    }
}

const TOO_DEEP: &str = "expression recursion limit exceeded: 250";

/// Checks and evaluates a rule on the whole object.
fn rule(text: &str) -> Result<(), String> {
    let rule = Rule { rule: text.to_owned(), ..Rule::default() };
    let source = json!({"type": "object", "properties": {"a": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "additionalProperties": {"type": "string"}}, "b": {"type": "boolean"}}});
    let mut schema = Schema::parse(&source).unwrap();
    if let Some(problem) = cel::problems(&schema, &rule, true).0.first() {
        return Err(format!("{problem:?}"));
    }
    schema.rules = vec![rule];
    schema.has_rules = true;
    let value = json!({"a": {"a": "x"}, "b": true});
    let found = validate(&schema, &value, None);
    found.first().map_or(Ok(()), |error| Err(error.to_string()))
}

#[test]
fn rules() {
    let case = |name, text, less| Case { name, text, limit: MAX_CEL_DEPTH - less };
    check(
        vec![
            case("parentheses", |levels| nested("(", "true", ")", levels), 1),
            case("lists", |levels| nested("[", "1", "]", levels) + " != []", 2),
            case("maps", |levels| nested("{1: ", "1", "}", levels) + " != {}", 2),
            case("additions", |levels| "1".to_owned() + &" + 1".repeat(levels) + " > 0", 2),
            case("conditions", |levels| "true ? true : ".repeat(levels) + "true", 1),
            case("conditions in conditions", |levels| nested("(true ? ", "true", " : true)", levels), 2),
            case("indices", |levels| "[[1]]".to_owned() + &".map(x, [x])".repeat(levels) + " != []", 4),
            case("macros", |levels| nested("[1].all(x, ", "true", ")", levels), 2),
            case("calls", |levels| nested("dyn(", "true", ")", levels) + " == true", 2),
            case("receivers", |levels| "'a'".to_owned() + &".trim()".repeat(levels) + " == 'a'", 2),
            case("optionals", |levels| nested("optional.of(", "1", ")", levels) + ".hasValue()", 2),
        ],
        3_000,
    );
    // Chains of these operators may be as long as a source may be.
    for text in [
        "true".to_owned() + &" || self.b".repeat(9_000),
        "true".to_owned() + &" && true || false".repeat(5_000),
        "!".repeat(50_000) + "true",
        "self.b && ".repeat(9_000) + "self.b",
    ] {
        assert_eq!(on_a_small_stack(move || rule(&text)), Ok(()));
    }
    for text in [
        ".".repeat(90_000),
        "(".repeat(90_000),
        "[".repeat(90_000),
        "!-".repeat(40_000),
        "-".repeat(90_001) + "1 < 0",
    ] {
        drop(on_a_small_stack(move || rule(&text)));
    }
    // Each macro of a chain nests what it gets more deeply, so that values and types would be deeper than any expression.
    let deeper = format!(".map(x, {})", nested("[", "x", "]", 80)).repeat(80);
    let refused = on_a_small_stack(move || rule(&format!("[1]{deeper} != []"))).unwrap_err();
    assert!(refused.contains("cost limit exceeded"), "{refused:.300}");
    // The operand in front of a chain is below the chain in the tree.
    let steps = |text: String| format!("({text}{})", " + 1".repeat(100));
    let wide = (0..100).fold("1".to_owned(), |text, _| steps(text)) + " > 0";
    assert!(on_a_small_stack(move || rule(&wide)).unwrap_err().contains(TOO_DEEP));
    let long = |characters: usize| format!("true{}", " ".repeat(characters - 4));
    assert_eq!(rule(&long(MAX_CEL_SOURCE)), Ok(()));
    let wanted = "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 100001, limit 100000";
    assert!(rule(&long(MAX_CEL_SOURCE + 1)).unwrap_err().contains(wanted));
}
