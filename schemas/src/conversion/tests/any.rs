//! Objects of any content whose values have the types of a schema.

use serde_json::{Map, Value, json};

/// A sequence of numbers that is the same for the same seed.
pub struct Numbers(pub u64);

impl Numbers {
    /// Returns a number below `end` (SplitMix64).
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % end as u64).unwrap()
    }

    fn one<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}

const NAMES: [&str; 5] = ["c", "a", "b", "d", "e"];
const TEXTS: [&str; 5] = ["", "x", "y", "z", "ipam.metal3.io"];
const DURATIONS: [&str; 9] = ["600s", "10m0s", "10m", "0s", "1.5s", "-1h", "99999999h", "soon", ""];

/// Returns an object of a kind in `version`, with `spec` and `status`.
pub fn object(kind: &str, version: &str, schema: &Value, numbers: &mut Numbers) -> Value {
    let mut object = json!({
        "apiVersion": format!("{}/{version}", super::GROUP), "kind": kind, "metadata": { "name": "any" },
    });
    if numbers.below(3) == 0 {
        object["metadata"]["annotations"] = json!({ "some": "annotation" });
    }
    for part in ["spec", "status"] {
        let schema = &schema["properties"][part];
        if schema.is_object() && numbers.below(8) > 0 {
            object[part] = value(part, schema, numbers);
        }
    }
    object
}

fn value(name: &str, schema: &Value, numbers: &mut Numbers) -> Value {
    if let Some(allowed) = schema["enum"].as_array() {
        return allowed[numbers.below(allowed.len())].clone();
    }
    match schema["type"].as_str() {
        Some("object") if schema["properties"].is_object() => fields(schema, numbers),
        Some("object") if schema["additionalProperties"].is_object() => {
            let entries = (0..numbers.below(4)).map(|_| {
                let key = numbers.one(&NAMES).to_owned();
                (key, value("", &schema["additionalProperties"], numbers))
            });
            Value::Object(entries.collect())
        }
        Some("array") => list(schema, numbers),
        Some("string") if name == "timeout" => json!(numbers.one(&DURATIONS)),
        Some("string") => json!(numbers.one(&TEXTS)),
        Some("integer") => json!([0, 1, 2, 600, 4000][numbers.below(5)]),
        Some("boolean") => json!(numbers.below(2) == 0),
        _ => [json!({}), json!(100), json!("fast"), json!({ "x": [1, { "y": "z" }] })][numbers.below(4)]
            .clone(),
    }
}

fn fields(schema: &Value, numbers: &mut Numbers) -> Value {
    let mut fields = Map::new();
    let density = 1 + numbers.below(4);
    for (name, schema) in schema["properties"].as_object().unwrap() {
        if numbers.below(5) < density {
            fields.insert(name.clone(), value(name, schema, numbers));
        }
    }
    Value::Object(fields)
}

/// Returns a list whose items differ in the keys of the list, and in their names. Items with names have them even where
/// the schema of this version does not ask for it.
fn list(schema: &Value, numbers: &mut Numbers) -> Value {
    let has = |field: &str, kind: &str| schema["items"]["properties"][field]["type"] == kind;
    let mut items: Vec<Value> = Vec::new();
    let length = numbers.below(4);
    for (index, name) in NAMES.iter().take(length).enumerate() {
        let mut item = value("", &schema["items"], numbers);
        for field in ["name", "key", "id", "type", "network"].into_iter().filter(|field| has(field, "string"))
        {
            item[field] = json!(name);
        }
        if has("index", "integer") {
            item["index"] = json!(10 - index);
        }
        items.push(item);
    }
    Value::Array(items)
}
