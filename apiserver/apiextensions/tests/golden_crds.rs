//! CustomResourceDefinitions with the recorded verdicts of kube-apiserver 1.36.

use apiextensions::crd;
use serde_json::Value;

#[test]
fn definitions_get_the_verdicts_of_kube_apiserver() {
    let folder = std::env::var("GOLDEN_DATA").unwrap_or_else(|_| {
        format!("{}/tests/data", concat!(env!("CARGO_MANIFEST_DIR"), "/../apiextensions"))
    });
    let text = std::fs::read_to_string(format!("{folder}/crds.json")).unwrap();
    let cases: Vec<Value> = serde_json::from_str(&text).unwrap();
    let mut failed = Vec::new();
    for case in &cases {
        let mut object = case["crd"].clone();
        let wanted: Vec<[String; 3]> = serde_json::from_value(case["causes"].clone()).unwrap();
        if let Err(why) = crd::decode(&mut object) {
            failed.push(format!("{}: {why}", case["name"]));
            continue;
        }
        crd::default(&mut object);
        crd::prepare_for_create(&mut object);
        let mut causes: Vec<[String; 3]> = crd::validate(&object)
            .iter()
            .map(|error| [error.field.clone(), error.kind.reason().to_owned(), error.body()])
            .collect();
        causes.sort();
        if causes != wanted {
            failed.push(format!("{}:\n  want {wanted:?}\n  got  {causes:?}", case["name"]));
        }
    }
    assert!(failed.is_empty(), "{} of {} failed:\n{}", failed.len(), cases.len(), failed.join("\n"));
}
