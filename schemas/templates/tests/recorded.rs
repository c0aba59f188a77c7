//! Templates as upstream has rendered them.

use serde_json::{Value, json};
use templates::{Error, Template};

/// The file of recordings. Its note says how they were made.
fn recorded() -> Value {
    serde_json::from_str(include_str!("template-functions.json")).expect("the recordings are JSON")
}

/// The variables of the recordings.
fn variables(recorded: &Value) -> Value {
    let mut variables = recorded["variables"].clone();
    let fields = variables.as_object_mut().expect("an object");
    fields.remove("absent");
    fields.insert(
        "builtin".to_owned(),
        json!({"cluster": {"name": "functions", "topology": {"version": "v1.35.0"}}}),
    );
    variables
}

/// What the API has of a rendered text: it is read as YAML, of which the recordings have strings on one line, quoted strings and blocks.
fn read(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::String(text)) => text,
        _ => match text.strip_prefix("|-\n  ") {
            Some(block) => block.replace("\n  ", "\n").trim_end_matches('\n').to_owned(),
            None => text.to_owned(),
        },
    }
}

#[test]
fn expressions_give_what_upstream_gives() {
    let recorded = recorded();
    let variables = variables(&recorded);
    let mut wrong = Vec::new();
    for result in recorded["results"].as_array().expect("results") {
        let sent = result["sent"].as_str().expect("a template");
        let outcome = Template::parse(sent).and_then(|template| template.render(&variables));
        let agrees = match &outcome {
            Ok(text) => result["value"].as_str() == Some(&read(text)),
            Err(Error::Syntax { .. }) => result["refused at admission"].is_string(),
            Err(Error::Rendering { message, .. }) => {
                result["fails when rendered"].is_string()
                    || result["available, value not fixed"].is_string()
                        && message.contains("something else each time")
            }
            Err(Error::Limit { .. }) => false,
        };
        if !agrees {
            wrong.push(format!("{outcome:?}, recorded: {result}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn templates_give_what_go_gives() {
    let recorded: Value = serde_json::from_str(include_str!("go.json")).expect("the recordings are JSON");
    let variables = &recorded["variables"];
    let render = |text: &str| Template::parse(text).and_then(|template| template.render(variables));
    let texts = |name: &str| recorded[name].as_array().expect("a list").iter().filter_map(Value::as_str);
    let mut wrong = Vec::new();
    for (text, value) in recorded["values"].as_object().expect("an object") {
        let outcome = render(text);
        if outcome.as_deref().ok() != value.as_str() {
            wrong.push(format!("{text}: {outcome:?}, recorded: {value}"));
        }
    }
    for text in texts("refused").filter(|text| !matches!(render(text), Err(Error::Syntax { .. }))) {
        wrong.push(format!("{text}: {:?}, recorded: refused", render(text)));
    }
    for text in texts("fail").filter(|text| !matches!(render(text), Err(Error::Rendering { .. }))) {
        wrong.push(format!("{text}: {:?}, recorded: fails", render(text)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
