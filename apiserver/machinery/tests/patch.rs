//! The patch formats.

use machinery::limits::MAX_DEPTH;
use machinery::patch::{Unfit, json_patch, merge_patch, operations, strategic_merge_patch};
use machinery::schema::Schema;
use serde_json::{Value, json};

fn object() -> Value {
    json!({"data": {"k": "v", "x/y": "1", "t~u": "2"}, "list": ["a", "b", "c"]})
}

#[test]
fn json_patch_changes() {
    let table = [
        (json!([]), object()),
        (
            json!([{"op": "add", "path": "/data/n", "value": 1}]),
            json!({"data": {"k": "v", "n": 1, "x/y": "1", "t~u": "2"}, "list": ["a", "b", "c"]}),
        ),
        (
            json!([{"op": "replace", "path": "/data/x~1y", "value": 9}, {"op": "remove", "path": "/data/t~0u"}]),
            json!({"data": {"k": "v", "x/y": 9}, "list": ["a", "b", "c"]}),
        ),
        (
            json!([{"op": "add", "path": "/list/-", "value": "d"}, {"op": "remove", "path": "/list/-1"}]),
            object(),
        ),
        (
            json!([{"op": "add", "path": "/list/0", "value": "z"}, {"op": "remove", "path": "/data"}]),
            json!({"list": ["z", "a", "b", "c"]}),
        ),
        (
            json!([{"op": "move", "from": "/data/k", "path": "/k"}, {"op": "copy", "from": "/k", "path": "/l"},
                {"op": "remove", "path": "/data"}, {"op": "remove", "path": "/list"}]),
            json!({"k": "v", "l": "v"}),
        ),
        (
            json!([{"op": "test", "path": "/list/1", "value": "b"}, {"op": "test", "path": "/missing", "value": null}]),
            object(),
        ),
    ];
    for (patch, wanted) in table {
        let patched = json_patch(&object(), patch.to_string().as_bytes()).unwrap();
        assert_eq!(patched.object, wanted, "{patch}");
        assert!(patched.problems.is_empty());
    }
}

/// Why operations do not fit, as policies show it.
#[test]
fn why_operations_do_not_fit() {
    let op = |op: &str, path: &str| json!({"op": op, "path": path, "value": 1});
    let from = |op: &str, from: &str, path: &str| json!({"op": op, "from": from, "path": path});
    let missing = "missing value";
    let index = "Unable to access invalid index: 9: invalid index referenced";
    let number = "strconv.Atoi: parsing \"x\": invalid syntax";
    for (operation, why) in [
        (
            op("add", "/none/x"),
            format!("add operation does not apply: doc is missing path: \"/none/x\": {missing}"),
        ),
        (
            op("add", "/data/k/x"),
            format!("add operation does not apply: doc is missing path: \"/data/k/x\": {missing}"),
        ),
        (op("add", ""), format!("add operation does not apply: doc is missing path: \"\": {missing}")),
        (op("add", "/list/9"), format!("error in add for path: '/list/9': {index}")),
        (
            op("add", "/list/x"),
            format!("error in add for path: '/list/x': value was not a proper array index: 'x': {number}"),
        ),
        (
            op("remove", "/none/x"),
            format!("remove operation does not apply: doc is missing path: \"/none/x\": {missing}"),
        ),
        (
            op("remove", "/data/x~0"),
            format!("error in remove for path: '/data/x~0': Unable to remove nonexistent key: x~: {missing}"),
        ),
        (op("remove", "/list/9"), format!("error in remove for path: '/list/9': {index}")),
        (op("remove", "/list/x"), format!("error in remove for path: '/list/x': {number}")),
        (
            op("replace", "/none/x"),
            format!("replace operation does not apply: doc is missing path: /none/x: {missing}"),
        ),
        (
            op("replace", "/list/-"),
            format!("replace operation does not apply: doc is missing key: /list/-: {missing}"),
        ),
        (
            op("test", "/none/x"),
            format!("test operation does not apply: is missing path: /none/x: {missing}"),
        ),
        (op("test", "/list/9"), format!("error in test for path: '/list/9': {index}")),
        (
            op("move", "/a"),
            format!("move operation failed to decode from: operation, missing from field: {missing}"),
        ),
        (
            from("move", "/none/x", "/a"),
            format!("move operation does not apply: doc is missing from path: /none/x: {missing}"),
        ),
        (
            from("move", "/data/x", "/a"),
            format!("error in move for path: 'x': Unable to remove nonexistent key: x: {missing}"),
        ),
        (
            from("move", "/data/k", "/no/x"),
            format!("move operation does not apply: doc is missing destination path: /no/x: {missing}"),
        ),
        (from("copy", "/list/9", "/a"), format!("error in copy for from: '/list/9': {index}")),
        (from("copy", "/data", "/list/9"), format!("error while adding value during copy: {index}")),
        (op("", "/a"), "Unexpected kind: ".to_owned()),
    ] {
        assert_eq!(
            operations(&object(), std::slice::from_ref(&operation)),
            Err(Unfit::Reason(why)),
            "{operation}"
        );
    }
    for path in ["/data/k", "/data/none", "/list/0"] {
        assert_eq!(operations(&object(), &[op("test", path)]), Err(Unfit::Test), "{path}");
    }
    let changed =
        operations(&object(), &[op("add", "/n"), op("test", "/n"), op("replace", "/data")]).unwrap();
    assert_eq!((&changed["n"], &changed["data"]), (&json!(1), &json!(1)));
}

#[test]
fn json_patch_refusals() {
    let table = [
        ("[{\"op\":", 400, "error decoding patch: unexpected end of JSON input"),
        (
            "{}",
            400,
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
        ),
        (r#"[{"path":"/data"}]"#, 422, "the server rejected our request due to an error in our request"),
        (r#"[{"op":"add","path":"/none/x","value":1}]"#, 422, "the server rejected our request"),
        (r#"[{"op":"remove","path":"/list/9"}]"#, 422, "the server rejected our request"),
        (r#"[{"op":"add","path":"/list/9","value":1}]"#, 422, "the server rejected our request"),
        (r#"[{"op":"test","path":"/data/k","value":"w"}]"#, 422, "the server rejected our request"),
        (r#"[{"op":"explode","path":"/data"}]"#, 422, "the server rejected our request"),
        (r#"[{"op":"remove","path":"data"}]"#, 422, "the server rejected our request"),
    ];
    for (patch, code, message) in table {
        let status = json_patch(&object(), patch.as_bytes()).unwrap_err();
        assert_eq!(status.code, code, "{patch}");
        assert!(status.message.starts_with(message), "{patch}: {}", status.message);
    }
}

#[test]
fn as_many_operations_as_are_allowed() {
    let operation = r#"{"op":"test","path":"/data/k","value":"v"}"#;
    let patch = |count: usize| format!("[{}]", vec![operation; count].join(","));
    let limit = machinery::limits::MAX_JSON_PATCH_OPERATIONS;
    assert!(json_patch(&object(), patch(limit - 1).as_bytes()).is_ok());
    assert!(json_patch(&object(), patch(limit).as_bytes()).is_ok());
    assert_eq!(json_patch(&object(), patch(limit + 1).as_bytes()).unwrap_err().code, 413);
}

#[test]
fn duplicate_fields_of_a_patch_are_reported() {
    let patch = br#"[{"op":"add","op":"add","path":"/x","value":1}]"#;
    assert_eq!(json_patch(&object(), patch).unwrap().problems, [r#"json patch duplicate field "[0].op""#]);
    let patch = br#"{"data":{"a":1,"a":2}}"#;
    assert_eq!(merge_patch(&object(), patch).unwrap().problems, [r#"duplicate field "data.a""#]);
}

#[test]
fn merge_patch_changes() {
    let table = [
        (json!({}), object()),
        (json!({"data": null, "list": ["z"]}), json!({"list": ["z"]})),
        (
            json!({"data": {"k": null, "n": {"a": 1, "b": null}}}),
            json!({"data": {"x/y": "1", "t~u": "2", "n": {"a": 1}}, "list": ["a", "b", "c"]}),
        ),
        (json!({"data": "text", "list": null}), json!({"data": "text"})),
    ];
    for (patch, wanted) in table {
        let patched = merge_patch(&object(), patch.to_string().as_bytes()).unwrap();
        assert_eq!(patched.object, wanted, "{patch}");
    }
    let status = merge_patch(&object(), b"[]").unwrap_err();
    assert_eq!(status.code, 400);
}

fn service_account() -> Schema {
    let reference =
        json!({"type": "object", "properties": {"name": {"type": "string"}, "note": {"type": "string"}}});
    Schema::parse(&json!({"type": "object", "properties": {
        "data": {"type": "object", "additionalProperties": {"type": "string"}},
        "plain": {"type": "array", "items": {"type": "string"}},
        "secrets": {"type": "array", "items": reference, "x-kubernetes-patch-strategy": "merge",
            "x-kubernetes-patch-merge-key": "name"},
    }}))
    .unwrap()
}

#[test]
fn strategic_merge_patch_changes() {
    let live = json!({
        "metadata": {"finalizers": ["a/f", "a/g"], "labels": {"l": "1"}},
        "data": {"k": "v", "l": "w"}, "plain": ["a"], "secrets": [{"name": "s1", "note": "n"}, {"name": "s2"}],
    });
    let table = [
        ("maps", json!({"data": {"k": "2", "l": null, "m": "3"}}), "/data", json!({"k": "2", "m": "3"})),
        ("map replaced", json!({"data": {"$patch": "replace", "m": "1"}}), "/data", json!({"m": "1"})),
        ("map deleted", json!({"data": {"$patch": "delete"}}), "/data", Value::Null),
        (
            "keys retained",
            json!({"data": {"$retainKeys": ["k", "m"], "m": "1"}}),
            "/data",
            json!({"k": "v", "m": "1"}),
        ),
        ("plain list", json!({"plain": ["b"]}), "/plain", json!(["b"])),
        (
            "merged list",
            json!({"secrets": [{"name": "s3"}, {"name": "s1", "note": "m"}]}),
            "/secrets",
            json!([{"name": "s3"}, {"name": "s1", "note": "m"}, {"name": "s2"}]),
        ),
        (
            "item deleted",
            json!({"secrets": [{"$patch": "delete", "name": "s1"}]}),
            "/secrets",
            json!([{"name": "s2"}]),
        ),
        (
            "list replaced",
            json!({"secrets": [{"$patch": "replace"}, {"name": "only"}]}),
            "/secrets",
            json!([{"name": "only"}]),
        ),
        (
            "ordered list",
            json!({"$setElementOrder/secrets": [{"name": "s3"}, {"name": "s2"}, {"name": "s1"}],
                "secrets": [{"name": "s3"}]}),
            "/secrets",
            json!([{"name": "s3"}, {"name": "s2"}, {"name": "s1", "note": "n"}]),
        ),
        (
            "scalars merged",
            json!({"metadata": {"finalizers": ["a/h"]}}),
            "/metadata/finalizers",
            json!(["a/h", "a/f", "a/g"]),
        ),
        (
            "scalars deleted",
            json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/f"]}}),
            "/metadata/finalizers",
            json!(["a/g"]),
        ),
        (
            "scalars ordered",
            json!({"metadata": {"$setElementOrder/finalizers": ["a/g", "a/h", "a/f"], "finalizers": ["a/h"]}}),
            "/metadata/finalizers",
            json!(["a/g", "a/h", "a/f"]),
        ),
        ("list gone", json!({"secrets": null}), "/secrets", Value::Null),
    ];
    for (name, patch, path, wanted) in table {
        let patched = strategic_merge_patch(&live, patch.to_string().as_bytes(), &service_account()).unwrap();
        assert_eq!(patched.object.pointer(path).cloned().unwrap_or_default(), wanted, "{name}");
    }
}

#[test]
fn strategic_merge_patch_refusals() {
    let table = [
        (
            json!({"data": {"$patch": "explode"}}),
            500,
            "unknown patch type: explode in map: map[$patch:explode]",
        ),
        (
            json!({"data": {"k": 5}}),
            422,
            " \"\" is invalid: patch: Invalid value: \"map[data:map[k:5]]\": cannot convert int64 to string",
        ),
        (
            json!({"data": []}),
            422,
            " \"\" is invalid: patch: Invalid value: \"map[data:[]]\": cannot restore map from slice",
        ),
        (
            json!({"secrets": [{"note": "x"}]}),
            500,
            "map: map[note:x] does not contain declared merge key: name",
        ),
        (
            json!({"$setElementOrder/secrets": [{"name": "s"}], "secrets": [{"name": "t"}]}),
            500,
            "The order in patch list:\n[map[name:t]]\n doesn't match $setElementOrder list:\n[map[name:s]]\n",
        ),
        (
            json!({"$setElementOrder/secrets": [{"note": "s"}]}),
            500,
            "map: map[note:s] does not contain declared merge key: name",
        ),
        (
            json!({"$setElementOrder/secrets": null}),
            500,
            "expected a []interface {}, but received a %!s(<nil>)",
        ),
    ];
    let live = json!({"data": {"k": "v"}, "secrets": [{"name": "s"}]});
    for (patch, code, message) in table {
        let status =
            strategic_merge_patch(&live, patch.to_string().as_bytes(), &service_account()).unwrap_err();
        assert_eq!((status.code, status.message.as_str()), (code, message), "{patch}");
    }
}

/// Copies of the whole object into itself could exhaust memory, and many nested values the stack.
#[test]
fn a_json_patch_cannot_grow_without_bounds() {
    let object = json!({"spec": {"text": "x".repeat(1000)}});
    let copies: Vec<Value> =
        (0..40).map(|i| json!({"op": "copy", "from": "/spec", "path": format!("/spec/{i}")})).collect();
    let status = json_patch(&object, Value::from(copies).to_string().as_bytes()).unwrap_err();
    assert_eq!(status.code, 413);
    assert!(status.message.contains("exceeding the limit 3145728"), "{}", status.message);
    let levels = MAX_DEPTH - 10;
    let deep = (0..levels).fold(json!(1), |inner, _| json!({"d": inner}));
    let under = format!("/spec{}", "/d".repeat(levels));
    let deeper = json!([{"op": "add", "path": "/spec/d", "value": deep["d"]}, {"op": "add", "path": under, "value": deep}]);
    let status = json_patch(&object, deeper.to_string().as_bytes()).unwrap_err();
    assert_eq!((status.code, status.message.contains("nested deeper than")), (413, true));
}
