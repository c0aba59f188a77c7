//! Programs with named parts.

use cel::program::{Answer, Expected, Input, Program};
use serde_json::json;

#[test]
fn named_parts_fail_where_they_are_used() {
    let object = json!({"spec": {"replicas": 3}});
    let compile = |text: &str| Program::compile(text, &["object", "variables"], Expected::Any).unwrap();
    let named = vec![
        ("many".to_owned(), compile("object.spec.replicas > 2")),
        ("missing".to_owned(), compile("object.spec.none > 2")),
        ("both".to_owned(), compile("variables.many && object.spec.replicas < 9")),
    ];
    let programs =
        [compile("variables.both"), compile("variables.missing"), compile("variables.many ? 'a' : 'b'")];
    let input = Input::new(vec![("object", &object)]);
    let answers = input.evaluate(&named, &programs.iter().collect::<Vec<_>>());
    assert_eq!(answers[0], Ok(Answer::Boolean(true)));
    let why = answers[1].clone().unwrap_err();
    assert_eq!(why, "composited variable \"missing\" fails to evaluate: no such key: none");
    assert_eq!(answers[2], Ok(Answer::Text("a".into())));
}

#[test]
fn named_parts_do_not_pile_up() {
    let object = json!({});
    let compile = |text: &str| Program::compile(text, &["variables"], Expected::Any).unwrap();
    let below = |part: usize| if part == 0 { "1".to_owned() } else { format!("variables.v{}", part - 1) };
    let named: Vec<(String, Program)> = (0..2_000)
        .map(|part| {
            (
                format!("v{part}"),
                compile(&format!("{0}{1}, {1}{2}", "[".repeat(50), below(part), "]".repeat(50))),
            )
        })
        .collect();
    let programs = [
        compile("size(variables.v4) == 1"),
        compile("size(variables.v5) == 1"),
        compile("variables.v1999 == 1"),
    ];
    let input = Input::new(vec![("object", &object)]);
    let answers = input.evaluate(&named, &programs.iter().collect::<Vec<_>>());
    assert_eq!(answers[0], Ok(Answer::Boolean(true)));
    for answer in &answers[1..] {
        assert!(answer.as_ref().unwrap_err().contains("nested too deeply"), "{answer:?}");
    }
}

#[test]
fn what_does_not_compile() {
    let refused = |text: &str, expected| Program::compile(text, &["object"], expected).unwrap_err();
    assert!(refused("nothing.x", Expected::Boolean).contains("undeclared reference to 'nothing'"));
    assert_eq!(refused("'text'", Expected::Boolean), "must evaluate to bool but got string");
    assert_eq!(refused("object.a", Expected::Text), "must evaluate to string but got dyn");
    assert!(refused("1 +", Expected::Boolean).contains("Syntax error"));
    assert!(refused("self.x", Expected::Any).contains("undeclared reference to 'self'"));
}

/// `namespace` is reserved in CEL, and a property of a schema with this name is `__namespace__`.
#[test]
fn the_namespace_of_a_request_has_its_plain_name() {
    let request = json!({"namespace": "a", "name": "b"});
    let compile = |text: &str| Program::compile(text, &["request"], Expected::Any);
    let programs = ["request.namespace == 'a'", "has(request.namespace)"].map(|text| compile(text).unwrap());
    let input = Input::new(vec![("request", &request)]);
    let answers = input.evaluate(&[], &programs.iter().collect::<Vec<_>>());
    assert_eq!(answers, [Ok(Answer::Boolean(true)), Ok(Answer::Boolean(true))]);
    let refused = compile("request.__namespace__ == 'a'").unwrap_err();
    assert!(refused.contains("undefined field '__namespace__'"), "{refused}");
}
