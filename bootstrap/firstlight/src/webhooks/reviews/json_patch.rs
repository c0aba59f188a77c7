//! The difference between two objects as a JSON patch (RFC 6902).

use serde_json::{Value, json};

/// Returns the operations that turn `from` into `to`; none if they are equal. Lists are replaced as a whole.
pub(super) fn difference(from: &Value, to: &Value) -> Vec<Value> {
    let mut operations = Vec::new();
    compare(&mut String::new(), from, to, &mut operations);
    operations
}

/// Compares the values at `path`, which is the same afterwards.
fn compare(path: &mut String, from: &Value, to: &Value, operations: &mut Vec<Value>) {
    let (Value::Object(old), Value::Object(new)) = (from, to) else {
        if from != to {
            operations.push(json!({"op": "replace", "path": path, "value": to}));
        }
        return;
    };
    let length = path.len();
    for (key, value) in old {
        push(path, key);
        match new.get(key) {
            None => operations.push(json!({"op": "remove", "path": path})),
            Some(new) => compare(path, value, new, operations),
        }
        path.truncate(length);
    }
    for (key, value) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
        push(path, key);
        operations.push(json!({"op": "add", "path": path, "value": value}));
        path.truncate(length);
    }
}

fn push(path: &mut String, key: &str) {
    path.push('/');
    path.push_str(&key.replace('~', "~0").replace('/', "~1"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_turns_one_object_into_the_other() {
        let table = [
            (json!({"a": 1}), json!({"a": 1}), json!([])),
            (json!({"a": 1}), json!({"a": 2}), json!([{"op": "replace", "path": "/a", "value": 2}])),
            (
                json!({"a": {"b": 1, "c": 2}}),
                json!({"a": {"b": 1, "d": {}}}),
                json!([{"op": "remove", "path": "/a/c"}, {"op": "add", "path": "/a/d", "value": {}}]),
            ),
            (
                json!({"m": {"a/b": "x", "c~d": "x"}}),
                json!({"m": {"a/b": "y", "c~d": [1]}}),
                json!([
                    {"op": "replace", "path": "/m/a~1b", "value": "y"},
                    {"op": "replace", "path": "/m/c~0d", "value": [1]},
                ]),
            ),
            (json!({"l": [1, 2]}), json!({"l": [1]}), json!([{"op": "replace", "path": "/l", "value": [1]}])),
            (json!({"a": null}), json!({"a": {}}), json!([{"op": "replace", "path": "/a", "value": {}}])),
        ];
        for (from, to, expected) in table {
            assert_eq!(Value::Array(difference(&from, &to)), expected, "{from} {to}");
        }
    }
}
