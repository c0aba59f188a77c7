//! Expressions of mutating policies: the objects and operations that they make.

use cel::limits::MAX_CEL_MADE;
use cel::program::{Environment, Expected, Input, Program};
use serde_json::{Value, json};

fn environment() -> Environment {
    Environment::new(&["object", "variables"]).patching()
}

fn configuration(text: &str) -> Result<Value, String> {
    let object = json!({"spec": {"replicas": 2}, "data": {"a": "b"}});
    let program = Program::compile(text, &environment(), Expected::Configuration)?;
    Input::new(vec![("object", &object)]).configuration(&[], &program, "text")
}

fn operations(text: &str) -> Result<Value, String> {
    let object = json!({"spec": {"replicas": 2}});
    let program = Program::compile(text, &environment(), Expected::Operations)?;
    Input::new(vec![("object", &object)]).operations(&[], &program, "text").map(Value::from)
}

#[test]
fn objects_that_are_made() {
    for (text, wanted) in [
        ("Object{}", json!({})),
        (
            ".Object{spec: Object.spec{replicas: 1, text: 'a',},}",
            json!({"spec": {"replicas": 1, "text": "a"}}),
        ),
        ("Object{spec: Object.spec{replicas: object.spec.replicas + 1}}", json!({"spec": {"replicas": 3}})),
        (
            "Object{data: object.data, none: null, big: 1u, half: 0.5, whole: 2.0}",
            json!({"data": {"a": "b"}, "none": null, "big": 1, "half": 0.5, "whole": 2}),
        ),
        ("Object{items: [1, 2].map(n, Object.items{n: n})}", json!({"items": [{"n": 1}, {"n": 2}]})),
        ("Object{a: {'x': Object.a{b: true}}}", json!({"a": {"x": {"b": true}}})),
        (
            "Object{?a: optional.none(), ?b: optional.of(1), c: b'x', d: duration('1m')}",
            json!({"b": 1, "c": "eA==", "d": "60s"}),
        ),
        ("Object{a: 1, a: 2}", json!({"a": 2})),
        (
            "Object{a: string(Object{b: Object.b{c: 'd'}}.b.c), e: has(Object{b: 1}.b), f: has(Object{b: 1}.c), \
          g: Object{}.a == null, h: Object{b: 1} == Object{b: 1}, i: Object{b: 1} == Object{b: 2}}",
            json!({"a": "d", "e": true, "f": false, "g": true, "h": true, "i": false}),
        ),
        ("object.spec.replicas > 1 ? Object{a: 1} : Object{}", json!({"a": 1})),
    ] {
        assert_eq!(configuration(text), Ok(wanted), "{text}");
    }
}

#[test]
fn operations_that_are_made() {
    for (text, wanted) in [
        (
            "[JSONPatch{op: 'add', path: '/a/' + jsonpatch.escapeKey('x/y~z'), value: [1, 2]}]",
            json!([{"op": "add", "path": "/a/x~1y~0z", "value": [1, 2]}]),
        ),
        (
            "[JSONPatch{op: 'move', from: '/a', path: '/b'}, JSONPatch{op: 'remove', path: '/c', from: ''}]",
            json!([{"op": "move", "from": "/a", "path": "/b"}, {"op": "remove", "path": "/c"}]),
        ),
        (
            "[JSONPatch{op: 'add', path: '/a', value: Object.spec.items{a: Object.spec.items.a{b: 1}}}]",
            json!([{"op": "add", "path": "/a", "value": {"a": {"b": 1}}}]),
        ),
        // Numbers of JSON patches are floating point numbers.
        (
            "[JSONPatch{value: 9007199254740993}, JSONPatch{value: 3.0}]",
            json!([{"op": "", "path": "", "value": "9007199254740993"}, {"op": "", "path": "", "value": 3}]),
        ),
        ("object.spec.replicas > 5 ? [JSONPatch{op: 'test'}] : []", json!([])),
        (
            "[JSONPatch{op: JSONPatch{op: 'copy'}.op, path: string(has(JSONPatch{}.from)), value: JSONPatch{op: 'a'} == JSONPatch{op: 'a'}}]",
            json!([{"op": "copy", "path": "false", "value": true}]),
        ),
    ] {
        assert_eq!(operations(text), Ok(wanted), "{text}");
    }
}

#[test]
fn what_is_refused() {
    for (text, why) in [
        ("'teapot'", "must evaluate to Object but got string"),
        ("Object.spec{}", "must evaluate to Object but got Object.spec"),
        ("object", "must evaluate to Object but got dyn"),
        ("Objekt{}", "ERROR: <input>:1:7: undeclared reference to 'Objekt' (in container '')"),
        ("Object{a: 1 + 'a'}", "found no matching overload for '_+_' applied to '(int, string)'"),
        ("Object{true: 1}", "mismatched input 'true' expecting"),
        (
            "Object{spec: Object.specx{a: 1}}",
            "type mismatch: unexpected type name \"Object.specx\", expected \
          \"Object.spec\", which matches field name path from root Object type",
        ),
        ("Object{a: [Object.b{}]}", "unexpected type name \"Object.b\", expected \"Object.a\""),
        ("Object{a: {1: 'a'}}", "invalid return type: *dynamic.ObjectVal"),
        ("Object{a: object.none}", "expression 'text' resulted in error: no such key: none"),
        ("Object{?a: 1}", "expected type 'optional_type(int)' but found 'int'"),
    ] {
        let refused = configuration(text).unwrap_err();
        assert!(refused.contains(why), "{text}: {refused}");
    }
    for (text, why) in [
        ("JSONPatch{}", "must evaluate to list(JSONPatch) but got JSONPatch"),
        ("[]", "must evaluate to list(JSONPatch) but got list(dyn)"),
        (
            "[JSONPatch{op: 1}]",
            "<input>:1:14: expected type of field 'op' is 'string' but provided type is 'int'",
        ),
        ("[JSONPatch{no: 1}]", "expected type of field 'no' is '' but provided type is 'int'"),
        ("[JSONPatch{op: object.spec.replicas}]", "unexpected type int64 for JSONPatchType 'op' field"),
        ("[JSONPatch{no: object.spec}]", "unexpected JSONPatchType field: no"),
        ("[JSONPatch{value: Object.a{b: Object.c{}}}]", "type mismatch: unexpected type name \"Object.c\""),
        ("[JSONPatch{value: quantity('1')}]", "evaluated to a type that could not marshal to JSON"),
    ] {
        let refused = operations(text).unwrap_err();
        assert!(refused.contains(why), "{text}: {refused}");
    }
}

/// Only expressions of mutations make patches.
#[test]
fn others_make_no_patches() {
    let mut environment = Environment::new(&["object", "variables"]);
    for (text, why) in [
        ("Object{a: 1} == object", "undeclared reference to 'Object'"),
        ("size([JSONPatch{}]) == 1", "undeclared reference to 'JSONPatch'"),
        ("jsonpatch.escapeKey('a') == 'a'", "undeclared reference to 'jsonpatch'"),
    ] {
        let refused = Program::compile(text, &environment, Expected::Boolean).unwrap_err();
        assert!(refused.contains(why), "{text}: {refused}");
        assert!(Program::define("a", text, &mut environment).is_err());
    }
}

/// Endless loops, and values that contain another one many times, end at a limit.
#[test]
fn what_is_made_is_limited() {
    let cancelled = "operation cancelled: actual cost limit exceeded";
    let thousand = "lists.range(1000)";
    let nested = (0..60).fold("'x'".to_owned(), |inner, n| format!("[{inner}].map(v{n}, [v{n}, v{n}])"));
    for text in [
        format!("Object{{a: {thousand}.map(x, {thousand}.map(y, {thousand}.map(z, x * y * z)))}}"),
        format!("Object{{a: {thousand}.map(x, {thousand}.map(y, Object.a{{b: y}}))}}"),
        format!("Object{{a: {nested}}}"),
        // Each macro nests what it gets more deeply.
        format!("Object{{a: [1]{}}}", format!(".map(x, {}x{})", "[".repeat(80), "]".repeat(80)).repeat(80)),
    ] {
        let refused = configuration(&text).unwrap_err();
        assert!(refused.ends_with(cancelled), "{refused}");
    }
    let value = format!("[JSONPatch{{op: 'add', path: '/a', value: Object{{a: {nested}}}}}]");
    assert_eq!(operations(&value).unwrap_err(), cancelled);
    // 48 texts with 16 bytes for each, 16 for the list and one for the field.
    let length = (MAX_CEL_MADE - 17) / 48 - 16;
    let made = |length: usize| {
        configuration(&format!("Object{{a: lists.range(48).map(n, '{}')}}", "x".repeat(length)))
    };
    assert_eq!(made(length - 1).err(), None);
    assert_eq!(made(length).err(), None);
    assert_eq!(made(length + 1).unwrap_err(), cancelled);
}

/// Objects are not nested more deeply than stored ones may be, nor than any expression.
#[test]
fn objects_that_are_nested() {
    let nested = |levels: usize| {
        let name = |level: usize| format!("Object{}", ".a".repeat(level));
        (0..levels).rev().fold("1".to_owned(), |inner, level| format!("{}{{a: {inner}}}", name(level)))
    };
    assert!(configuration(&nested(200)).is_ok());
    assert_eq!(configuration(&nested(240)).unwrap_err(), "operation cancelled: actual cost limit exceeded");
    let refused = configuration(&nested(300)).unwrap_err();
    assert!(refused.contains("expression recursion limit exceeded: 250"), "{refused}");
    // The same object many times, below a field with a long name.
    let field = "x".repeat(10_000);
    let many =
        (0..22).fold(format!("Object.{field}{{}}"), |inner, n| format!("[{inner}].map(v{n}, [v{n}, v{n}])"));
    let refused = configuration(&format!("Object{{{field}: {many}}}")).unwrap_err();
    assert_eq!(refused, "operation cancelled: actual cost limit exceeded");
}
