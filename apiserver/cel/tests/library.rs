//! The functions of CEL, their results and their error messages. `data/cel.json` contains the verdicts of
//! apiextensions-apiserver 0.36 on each rule (`refused`: when the rule is written; `error`: on the value; neither: the
//! rule holds) and the text of each `message`.

use cel::RuleProblem;
use machinery::schema::Schema;
use serde_json::{Value, json};

use crate::cel::validate;

#[test]
fn rules_are_judged_as_by_the_real_server() {
    let data: Value = serde_json::from_str(include_str!("data/cel.json")).unwrap();
    let mut wrong = Vec::new();
    for case in data["cases"].as_array().unwrap() {
        let mut schema = data["schema"].clone();
        schema["x-kubernetes-validations"] = match case["message"].as_str() {
            Some(message) => json!([{"rule": "self.i == 99", "messageExpression": message}]),
            None => json!([{"rule": case["rule"]}]),
        };
        let schema = Schema::parse(&schema).unwrap();
        let (problems, _) = cel::problems(&schema, &schema.rules[0], false);
        let refused = problems.into_iter().find_map(|problem| match problem {
            RuleProblem::Rule(text) | RuleProblem::MessageExpression(text) => Some(text),
            _ => None,
        });
        let found = match refused {
            Some(text) => json!({ "refused": text }),
            None => {
                let errors = validate(&schema, &data["value"], None);
                let text = errors.first().map(ToString::to_string).unwrap_or_default();
                match text.split_once("Invalid value: ") {
                    Some((_, text)) => json!({ "error": text }),
                    None => json!({}),
                }
            }
        };
        let wanted = match (case.get("refused"), case.get("error")) {
            (Some(text), _) => json!({ "refused": text }),
            (_, Some(text)) => json!({ "error": text }),
            _ => json!({}),
        };
        if found != wanted {
            wrong.push(format!("{case}\n    found {found}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
