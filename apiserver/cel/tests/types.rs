//! Names and types that rules may use, as kube-apiserver's type checker sees them.

use cel::{RuleProblem, is_identifier, problems};
use machinery::schema::{Rule, Schema};
use serde_json::{Value, json};

use crate::cel::validate;

/// Words that CEL reserves, which are nevertheless common names of properties.
const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

fn schema(properties: Value) -> Schema {
    Schema::parse(&json!({"type": "object", "properties": properties})).unwrap()
}

fn problems_of(schema: &Schema, rule: &str, message: Option<&str>) -> Vec<RuleProblem> {
    let rule =
        Rule { rule: rule.to_owned(), message_expression: message.map(str::to_owned), ..Rule::default() };
    problems(schema, &rule, false).0
}

/// The word itself and its escaped form name the property.
#[test]
fn properties_with_reserved_names() {
    for word in RESERVED {
        let rule = format!("has(self.{word}) && self.{word} == 'x' && self.__{word}__ == 'x'");
        let properties = json!({"type": "object", "properties": {word: {"type": "string"}},
            "x-kubernetes-validations": [{"rule": rule}]});
        let schema = Schema::parse(&properties).unwrap();
        assert_eq!(problems_of(&schema, &rule, None), [], "{word}");
        assert_eq!(validate(&schema, &json!({word: "x"}), None), [], "{word}");
        assert_eq!(validate(&schema, &json!({word: "y"}), None).len(), 1, "{word}");
    }
    let plain = schema(json!({"x-y": {"type": "string"}, "in": {"type": "string"}}));
    assert_eq!(problems_of(&plain, "self.__in__ == self.x__dash__y", None), []);
    for rule in ["self.in == 'x'", "namespace == 'x'", "self.namespace == 'x'"] {
        assert!(matches!(&problems_of(&plain, rule, None)[..], [RuleProblem::Rule(_)]), "{rule}");
    }
}

/// What is open in one part of an expression is decided by another part.
#[test]
fn types_that_are_decided_later() {
    let schema = schema(json!({"text": {"type": "string"}}));
    for rule in [
        "optional.none().orValue(true)",
        "optional.none().or(optional.of(true)).value()",
        "(self.text == '' ? optional.none() : optional.of(true)).value()",
        "([] + [true])[0]",
        "[optional.none(), optional.of(true)][0].value()",
        "({}).?a.orValue(true)",
    ] {
        assert_eq!(problems_of(&schema, rule, None), [], "{rule}");
    }
    assert_eq!(problems_of(&schema, "true", Some("optional.none().orValue('x')")), []);
    let refused = problems_of(&schema, "true", Some("optional.none().orValue(5)"));
    let why = "messageExpression must evaluate to a string";
    assert_eq!(refused, [RuleProblem::MessageExpression(why.to_owned())]);
    let refused = problems_of(&schema, "optional.none().orValue(dyn(true))", None);
    assert_eq!(refused, [RuleProblem::Rule("cel expression must evaluate to a bool".to_owned())]);
}

#[test]
fn identifiers() {
    for name in ["a", "_", "a1", "Namespace", "params", "in_"] {
        assert!(is_identifier(name), "{name}");
    }
    for name in RESERVED.into_iter().chain(["", "1a", "a-b", "a.b", "é", "true", "false", "null", "in", " a"])
    {
        assert!(!is_identifier(name), "{name}");
    }
}
