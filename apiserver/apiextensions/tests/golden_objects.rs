//! Validation of objects against schemas, with the recorded verdicts of kube-apiserver 1.36.

use apiextensions::CompiledSchema;
use cel::Known;
use machinery::field::FieldError;
use machinery::schema::{coerce, default};
use serde_json::Value;

fn data(name: &str) -> Value {
    let folder = std::env::var("GOLDEN_DATA").unwrap_or_else(|_| {
        format!("{}/tests/data", concat!(env!("CARGO_MANIFEST_DIR"), "/../apiextensions"))
    });
    let text = std::fs::read_to_string(format!("{folder}/{name}")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn causes(errors: &[FieldError]) -> Vec<[String; 3]> {
    let mut causes: Vec<[String; 3]> = errors
        .iter()
        .map(|error| {
            let field = if error.field.is_empty() { "<nil>".to_owned() } else { error.field.clone() };
            [field, error.kind.reason().to_owned(), error.body()]
        })
        .collect();
    causes.sort();
    causes
}

/// Coerces, defaults and validates the object of a case like a request.
fn run(schema: &CompiledSchema, case: &Value) -> Result<(Value, Vec<[String; 3]>), String> {
    let mut object = case["object"].clone();
    if !case["status"].as_bool().unwrap_or(false)
        && case.get("old").is_none()
        && object.get("status").is_some()
    {
        object.as_object_mut().unwrap().remove("status");
    }
    coerce(schema, &mut object)?;
    default(schema, &mut object);
    let old = case.get("old");
    let errors = if case["status"].as_bool().unwrap_or(false) {
        schema.validate_status(&object, old, Vec::new(), Known::default())
    } else {
        schema.validate(&object, old, Vec::new(), Known::default())
    };
    Ok((object, causes(&errors)))
}

#[test]
fn objects_get_the_verdicts_of_kube_apiserver() {
    let data = data("objects.json");
    let mut failed = Vec::new();
    for case in data["cases"].as_array().unwrap() {
        let schema = CompiledSchema::parse(&data["schemas"][case["schema"].as_str().unwrap()]).unwrap();
        let wanted: Vec<[String; 3]> = serde_json::from_value(case["causes"].clone()).unwrap();
        match run(&schema, case) {
            Ok((object, causes)) => {
                if causes != wanted {
                    failed.push(format!("{}:\n  want {wanted:?}\n  got  {causes:?}", case["name"]));
                } else if let Some(result) = case.get("result").filter(|_| case["status"] == false) {
                    for part in ["spec"] {
                        if object.get(part) != result.get(part) {
                            failed.push(format!(
                                "{}: {part}\n  want {:?}\n  got  {:?}",
                                case["name"],
                                result.get(part).map(ToString::to_string),
                                object.get(part).map(ToString::to_string)
                            ));
                        }
                    }
                }
            }
            Err(why) => failed.push(format!("{}: {why}", case["name"])),
        }
    }
    assert!(
        failed.is_empty(),
        "{} of {} failed:\n{}",
        failed.len(),
        data["cases"].as_array().unwrap().len(),
        failed.join("\n")
    );
}
