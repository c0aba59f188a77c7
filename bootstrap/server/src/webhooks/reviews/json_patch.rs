//! The difference between two objects as a JSON patch (RFC 6902).

use serde_json::{Value, json};

/// Returns the operations that turn `from` into `to`; none if they are equal. Lists are replaced as a whole.
pub fn difference(from: &Value, to: &Value) -> Vec<Value> {
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
