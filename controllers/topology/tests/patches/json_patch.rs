//! JSON patches give what those of the API give, wherever both accept them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cluster_topology::desired::Contract;
use cluster_topology::patches::{GeneratePatchesResponse, PatchItem};
use cluster_topology::{Patching, Step};
use serde_json::{Value, json};

use crate::topology::support::Fixture;

/// Applies one operation to the template of the infrastructure. Returns what is made from it.
fn ours(fixture: &Fixture, operation: &Value) -> Option<Value> {
    let (blueprint, current) = (fixture.blueprint(), fixture.current());
    let unpatched = fixture.unpatched().expect("it can be made");
    let mut patching =
        Patching::new(&blueprint, &current.cluster, unpatched, Contract::V1Beta2).expect("templates");
    let Ok(Step::Generate { request, .. }) = patching.next() else { panic!("the extension is asked") };
    let patch = STANDARD.encode(json!([operation]).to_string());
    let item = PatchItem { uid: request.items[0].uid.clone(), patch_type: "JSONPatch".to_owned(), patch };
    patching.answer(GeneratePatchesResponse { items: vec![item] }).ok()?;
    while !matches!(patching.next(), Ok(Step::Done)) {}
    Some(patching.finish().expect("it is a template").infrastructure["spec"].clone())
}

#[test]
fn operations_agree_with_those_of_the_api() {
    let mut fixture = Fixture::new();
    let spec =
        json!({ "o": { "a": 1, "x/y": 2, "x~y": 3 }, "l": [1, { "a": 2 }, 3], "n": null, "s": "text" });
    fixture.templates[0]["spec"]["template"]["spec"] = spec;
    fixture.class["spec"]["patches"] =
        json!([{ "name": "ext", "external": { "generatePatchesExtension": "g" } }]);
    let below = [
        "/o", "/o/a", "/o/x~1y", "/o/x~0y", "/o/new", "/o/new/a", "/l", "/l/0", "/l/1/a", "/l/2", "/l/3",
        "/l/4", "/l/-", "/l/-1", "/l/-3", "/l/-4", "/l/-5", "/l/x", "/n", "/n/a", "/s", "/s/a", "/new",
    ];
    let path = |below: &str| format!("/spec/template/spec{below}");
    let mut operations = Vec::new();
    for at in below {
        for op in ["add", "replace", "test"] {
            operations.extend(
                [json!(1), json!({ "b": [] }), json!(null)]
                    .map(|value| json!({ "op": op, "path": path(at), "value": value })),
            );
        }
        operations.push(json!({ "op": "remove", "path": path(at) }));
        for from in below {
            operations
                .extend(["move", "copy"].map(|op| json!({ "op": op, "path": path(at), "from": path(from) })));
        }
    }
    let (mut same, mut stricter) = (0, 0);
    for operation in &operations {
        let patch = json!([operation]).to_string();
        let theirs = machinery::patch::json_patch(&fixture.templates[0], patch.as_bytes()).ok();
        let theirs = theirs.map(|patched| patched.object["spec"]["template"]["spec"].clone());
        match (ours(&fixture, operation), theirs) {
            (Some(ours), theirs) => {
                assert_eq!(Some(ours), theirs, "{operation}");
                same += 1;
            }
            (None, None) => same += 1,
            // The API adds where there is nothing to replace, and copies what is not there as null.
            (None, Some(_)) => {
                let op = operation["op"].as_str().unwrap_or_default();
                assert!(["replace", "copy"].contains(&op), "{operation}");
                stricter += 1;
            }
        }
    }
    assert!(same > 1000 && stricter > 10, "{same} {stricter}");
}
