//! Objects of any content that a schema allows.

use machinery::schema::{Schema, validate_values};
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
}

const NAMES: [&str; 5] = ["c", "a", "b", "d", "e"];
/// Fields that tell the items of a list apart.
const IDENTITIES: [&str; 8] = ["name", "key", "id", "type", "network", "conditionType", "path", "from"];
const DURATIONS: [&str; 6] = ["600s", "10m0s", "10m", "0s", "1.5s", "99999h"];
const NO_DURATIONS: [&str; 3] = ["-1h", "soon", ""];

/// The values that a field can have.
pub enum Shape {
    /// One of these values.
    One(Vec<Value>),
    /// An object: name and values of each field, and whether it must exist; and the least number of fields.
    Fields(Vec<(String, Shape, bool)>, usize),
    /// A map.
    Map(Box<Shape>),
    /// A list: its items, and their least number.
    List(Box<Shape>, usize),
}

/// Returns the shape of an object's `spec` and `status`. `is_strict` leaves out texts that are no durations where durations are expected.
pub fn shape(schema: &Value, is_strict: bool) -> Shape {
    let mut schema = schema.clone();
    schema["properties"].as_object_mut().unwrap().retain(|name, _| name == "spec" || name == "status");
    of("", &schema, is_strict).unwrap()
}

fn of(name: &str, schema: &Value, is_strict: bool) -> Option<Shape> {
    let least = |keyword: &str| usize::try_from(schema[keyword].as_u64().unwrap_or(0)).unwrap();
    if let Some(properties) = schema["properties"].as_object() {
        let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
        let fields = properties.iter().filter_map(|(name, schema)| {
            Some((name.clone(), of(name, schema, is_strict)?, required.contains(&json!(name))))
        });
        let fields: Vec<_> = fields.collect();
        return (fields.len() >= least("minProperties"))
            .then(|| Shape::Fields(fields, least("minProperties")));
    }
    if schema["type"] == "object" && schema["additionalProperties"].is_object() {
        return Some(Shape::Map(Box::new(of("", &schema["additionalProperties"], is_strict)?)));
    }
    if schema["type"] == "array" {
        return Some(Shape::List(Box::new(of(name, &schema["items"], is_strict)?), least("minItems")));
    }
    let parsed = Schema::parse(schema).unwrap();
    let mut choices = choices(name, schema, is_strict);
    choices.retain(|choice| validate_values(&parsed, choice, None).is_empty());
    (!choices.is_empty()).then_some(Shape::One(choices))
}

fn choices(name: &str, schema: &Value, is_strict: bool) -> Vec<Value> {
    if let Some(allowed) = schema["enum"].as_array() {
        return allowed.clone();
    }
    let is_duration =
        ["imeout", "Period", "ttl", "timeoutForControlPlane"].iter().any(|end| name.ends_with(end));
    let texts = |texts: &[&str]| texts.iter().map(|text| json!(text)).collect();
    match schema["type"].as_str() {
        Some("boolean") => vec![json!(false), json!(true)],
        Some("integer" | "number") => [0, 1, 2, 600, 4000].map(|number| json!(number)).to_vec(),
        Some("string") if schema["format"] == "date-time" => texts(&["2026-11-21T02:48:04Z"]),
        Some("string") if is_duration && is_strict => texts(&DURATIONS),
        Some("string") if is_duration => texts(&[&DURATIONS[..], &NO_DURATIONS].concat()),
        Some("string") => texts(&[
            "",
            "x",
            "y",
            "z",
            "ipam.metal3.io",
            "infrastructure.cluster.x-k8s.io/v1beta2",
            "v1.35.0",
            "[1-5]",
            "abcdef.0123456789abcdef",
            "/dev/sdb",
            "192.0.2.1",
            "0644",
            "dG9rZW4=",
        ]),
        Some("object") if schema["x-kubernetes-preserve-unknown-fields"] != true => vec![json!({})],
        _ if schema["x-kubernetes-int-or-string"] == true => vec![json!(1), json!("40%")],
        _ => vec![json!({}), json!(100), json!("fast"), json!({ "x": [1, { "y": "z" }] })],
    }
}

/// Returns an object of a kind, with `spec` and `status`.
pub fn object(group: &str, kind: &str, version: &str, shape: &Shape, numbers: &mut Numbers) -> Value {
    let mut object = json!({
        "apiVersion": format!("{group}/{version}"), "kind": kind,
        "metadata": { "name": "any", "namespace": "site" },
    });
    if numbers.below(3) == 0 {
        object["metadata"]["annotations"] = json!({ "some": "annotation" });
    }
    let Value::Object(parts) = value(shape, numbers) else { unreachable!() };
    object.as_object_mut().unwrap().extend(parts);
    object
}

fn value(shape: &Shape, numbers: &mut Numbers) -> Value {
    match shape {
        Shape::One(choices) => choices[numbers.below(choices.len())].clone(),
        Shape::Fields(fields, least) => {
            let density = 1 + numbers.below(4);
            let mut object = Map::new();
            for (index, (name, shape, is_required)) in fields.iter().enumerate() {
                let is_needed = *is_required || fields.len() - index <= least.saturating_sub(object.len());
                if is_needed || numbers.below(5) < density {
                    object.insert(name.clone(), value(shape, numbers));
                }
            }
            Value::Object(object)
        }
        Shape::Map(values) => {
            let entries = (0..numbers.below(4)).map(|_| {
                let key = NAMES[numbers.below(NAMES.len())].to_owned();
                (key, value(values, numbers))
            });
            Value::Object(entries.collect())
        }
        Shape::List(items, least) => list(items, *least, numbers),
    }
}

/// Returns a list whose items differ in the fields that tell them apart. They have these fields even where the schema of this version
/// does not ask for them.
fn list(shape: &Shape, least: usize, numbers: &mut Numbers) -> Value {
    let length = least.max(numbers.below(4));
    let mut items: Vec<Value> = Vec::new();
    for (index, name) in NAMES.iter().take(length).enumerate() {
        let mut item = value(shape, numbers);
        if let Shape::Fields(fields, _) = shape {
            for (field, shape, _) in fields {
                let Shape::One(choices) = shape else { continue };
                if IDENTITIES.contains(&field.as_str()) && choices.contains(&json!("x")) {
                    item[field] = json!(name);
                }
                if field == "index" {
                    item[field] = json!(10 - index);
                }
            }
        }
        items.push(item);
    }
    Value::Array(items)
}
