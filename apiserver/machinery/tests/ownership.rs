//! Ownership rules that no single recorded response shows.

use chrono::{DateTime, Duration, Utc};
use machinery::apply::{self, Reset, Versions, Writer, scale};
use machinery::limits::MAX_UPDATE_MANAGERS;
use machinery::meta;
use machinery::schema::Schema;
use serde_json::{Value, json};

use crate::machinery::OneSchema;

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap()
}

fn free() -> Schema {
    Schema::parse(&json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})).unwrap()
}

fn writer<'a>(manager: &'a str, versions: &'a dyn Versions, now: DateTime<Utc>) -> Writer<'a> {
    Writer { manager, api_version: "t/v1", subresource: "", reset: Reset::Nothing, now, versions }
}

fn object(spec: Value) -> Value {
    json!({"apiVersion": "t/v1", "kind": "T", "metadata": {"name": "a"}, "spec": spec})
}

/// Returns manager, operation, fields and time of each entry in order.
fn entries(object: &Value) -> Vec<(String, String, Value, Option<String>)> {
    let fields = meta::at(object, &["metadata", "managedFields"]).and_then(Value::as_array);
    let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    let entry = |entry: &Value| {
        let time = entry["time"].as_str().map(str::to_owned);
        (text(entry, "manager"), text(entry, "operation"), entry["fieldsV1"].clone(), time)
    };
    fields.into_iter().flatten().map(entry).collect()
}

#[test]
fn the_oldest_updates_are_merged() {
    let schema = free();
    let versions = OneSchema(&schema);
    let mut live = object(json!({}));
    live = apply::update(None, live, &writer("m0", &versions, now()));
    live["metadata"]["uid"] = "u".into();
    let count = MAX_UPDATE_MANAGERS + 3;
    for n in 1..count {
        let mut new = live.clone();
        new["spec"][format!("f{n}")] = n.into();
        let time = now() + Duration::seconds(i64::try_from(n).unwrap());
        live = apply::update(Some(&live), new, &writer(&format!("m{n}"), &versions, time));
        let wanted = (n + 1).min(MAX_UPDATE_MANAGERS);
        assert_eq!(entries(&live).len(), wanted, "after {n} updates");
    }
    let (manager, operation, fields, time) = &entries(&live)[0];
    assert_eq!((manager.as_str(), operation.as_str()), ("ancient-changes", "Update"));
    let wanted = json!({"f:spec": {".": {}, "f:f1": {}, "f:f2": {}, "f:f3": {}}});
    assert_eq!(*fields, wanted);
    assert_eq!(time.as_deref(), Some("2027-01-15T08:00:03Z"), "the time of the latest that was merged");
}

#[test]
fn what_changes_nothing_changes_no_time() {
    let schema = free();
    let versions = OneSchema(&schema);
    let mut live = apply::update(None, object(json!({"a": 1})), &writer("m", &versions, now()));
    live["metadata"]["uid"] = "u".into();
    let later = now() + Duration::hours(1);
    let mut new = apply::update(Some(&live), live.clone(), &writer("m", &versions, later));
    apply::keep_times(&live, &mut new);
    assert_eq!(new, live);
    // The strategy reverts the change after the bookkeeping.
    let mut changed = live.clone();
    changed["metadata"]["generation"] = 7.into();
    changed["spec"]["a"] = 2.into();
    let mut new = apply::update(Some(&live), changed, &writer("m", &versions, later));
    assert_ne!(entries(&new), entries(&live));
    new["spec"]["a"] = 1.into();
    new["metadata"].as_object_mut().unwrap().remove("generation");
    apply::keep_times(&live, &mut new);
    assert_eq!(new, live);
}

#[test]
fn managed_fields_cannot_be_forged_through_a_subresource_nor_lost_by_leaving_them_out() {
    let schema = free();
    let versions = OneSchema(&schema);
    let mut live = apply::update(None, object(json!({"a": 1})), &writer("m", &versions, now()));
    live["metadata"]["uid"] = "u".into();
    let mut without = live.clone();
    without["metadata"].as_object_mut().unwrap().remove("managedFields");
    assert_eq!(entries(&apply::update(Some(&live), without, &writer("n", &versions, now()))), entries(&live));
    let mut reset = live.clone();
    reset["metadata"]["managedFields"] = json!([{}]);
    assert!(entries(&apply::update(Some(&live), reset.clone(), &writer("n", &versions, now()))).is_empty());
    let status = Writer { subresource: "status", ..writer("n", &versions, now()) };
    assert_eq!(entries(&apply::update(Some(&live), reset, &status)), entries(&live));
}

/// A kind with two versions, in which the field `a` of v1 is `b` in v2.
struct Renamed {
    v1: Schema,
    v2: Schema,
}

impl Versions for Renamed {
    fn schema(&self, api_version: &str) -> Option<&Schema> {
        match api_version {
            "t/v1" => Some(&self.v1),
            "t/v2" => Some(&self.v2),
            _ => None,
        }
    }

    fn convert(&self, object: &Value, api_version: &str) -> Option<Value> {
        let (from, to) = if api_version == "t/v2" { ("a", "b") } else { ("b", "a") };
        let mut object = object.clone();
        object["apiVersion"] = api_version.into();
        let spec = object["spec"].as_object_mut()?;
        if let Some(value) = spec.remove(from) {
            spec.insert(to.to_owned(), value);
        }
        self.schema(api_version).map(|_| object)
    }
}

#[test]
fn conflicts_are_found_across_versions() {
    let schema = |field: &str| {
        let spec =
            json!({"type": "object", "properties": {field: {"type": "integer"}, "c": {"type": "integer"}}});
        Schema::parse(&json!({"type": "object", "properties": {"spec": spec}})).unwrap()
    };
    let versions = Renamed { v1: schema("a"), v2: schema("b") };
    let bare = json!({"apiVersion": "t/v1", "kind": "T"});
    let live =
        apply::apply(&bare, &object(json!({"a": 1})), false, &writer("one", &versions, now())).unwrap();
    let in_v2 = versions.convert(&live, "t/v2").unwrap();
    let two = Writer { api_version: "t/v2", ..writer("two", &versions, now()) };
    let mut config = object(json!({"b": 2}));
    config["apiVersion"] = "t/v2".into();
    let conflict = apply::apply(&in_v2, &config, false, &two).unwrap_err();
    // The path in the message belongs to the version in which the other manager applied.
    assert_eq!(conflict.message, "Apply failed with 1 conflict: conflict with \"one\": .spec.a");
    let forced = apply::apply(&in_v2, &config, true, &two).unwrap();
    assert_eq!(forced["spec"], json!({"b": 2}));
    assert_eq!(entries(&forced).len(), 1, "the first manager owns nothing any more");
    // Ownership in a version that does not exist is dropped.
    let mut old = live;
    old["metadata"]["managedFields"][0]["apiVersion"] = "t/v0".into();
    let taken =
        apply::apply(&old, &object(json!({"a": 2})), false, &writer("two", &versions, now())).unwrap();
    let managers: Vec<String> = entries(&taken).into_iter().map(|entry| entry.0).collect();
    assert_eq!(managers, ["two"]);
}

/// A kind with two versions without conversion, in which only v2 declares the field `b`.
struct Grown {
    v1: Schema,
    v2: Schema,
}

impl Versions for Grown {
    fn schema(&self, api_version: &str) -> Option<&Schema> {
        match api_version {
            "t/v1" => Some(&self.v1),
            "t/v2" => Some(&self.v2),
            _ => None,
        }
    }

    fn convert(&self, object: &Value, api_version: &str) -> Option<Value> {
        self.schema(api_version)?;
        let mut object = object.clone();
        object["apiVersion"] = api_version.into();
        Some(object)
    }
}

#[test]
fn what_the_version_of_the_last_apply_does_not_declare_is_refused() {
    let with = |properties: Value| {
        let spec = json!({"type": "object", "properties": properties});
        Schema::parse(&json!({"type": "object", "properties": {"spec": spec}})).unwrap()
    };
    let text = json!({"type": "string"});
    let versions = Grown { v1: with(json!({"a": text})), v2: with(json!({"a": text, "b": text})) };
    let config = |version: &str| json!({"apiVersion": version, "kind": "T", "metadata": {"name": "a"}, "spec": {"a": "1"}});
    let v1 = writer("m", &versions, now());
    let v2 = Writer { api_version: "t/v2", ..writer("m", &versions, now()) };
    let mut live =
        apply::apply(&json!({"apiVersion": "t/v1", "kind": "T"}), &config("t/v1"), false, &v1).unwrap();
    live["apiVersion"] = "t/v2".into();
    let same = apply::apply(&live, &config("t/v2"), false, &v2).unwrap();
    assert_eq!(same["spec"], json!({"a": "1"}));
    // The field has the value that a default would give it.
    live["spec"]["b"] = "2".into();
    let refused = apply::apply(&live, &config("t/v2"), false, &v2).unwrap_err();
    assert_eq!(refused.message, ".spec.b: field not declared in schema");
    // A manager that applied in v2 can apply again.
    let mut live = same;
    live["spec"]["b"] = "2".into();
    assert_eq!(apply::apply(&live, &config("t/v2"), false, &v2).unwrap()["spec"], live["spec"]);
}

#[test]
fn a_map_that_becomes_one_unit_is_owned_as_one() {
    let schema = |kind: Value| {
        let map = json!({"type": "object", "additionalProperties": {"type": "string"}, "x-kubernetes-map-type": kind});
        let spec = json!({"type": "object", "properties": {"m": map}});
        Schema::parse(&json!({"type": "object", "properties": {"spec": spec}})).unwrap()
    };
    let (granular, atomic) = (schema("granular".into()), schema("atomic".into()));
    let bare = json!({"apiVersion": "t/v1", "kind": "T"});
    let config = object(json!({"m": {"k": "1"}}));
    let live = apply::apply(&bare, &config, false, &writer("one", &OneSchema(&granular), now())).unwrap();
    assert_eq!(entries(&live)[0].2, json!({"f:spec": {"f:m": {"f:k": {}}}}));
    let other = object(json!({"m": {"l": "2"}}));
    let versions = OneSchema(&atomic);
    let conflict = apply::apply(&live, &other, false, &writer("two", &versions, now())).unwrap_err();
    assert_eq!(conflict.message, "Apply failed with 1 conflict: conflict with \"one\": .spec.m");
}

#[test]
fn replicas_through_scale() {
    let schema = free();
    let versions = OneSchema(&schema);
    let main = writer("creator", &versions, now());
    let scaler = Writer { subresource: "scale", ..writer("hpa", &versions, now()) };
    let live = apply::update(None, object(json!({"replicas": 1, "x": 1})), &main);
    let path = &["spec", "replicas"][..];
    let view = |object: &Value| {
        let view = json!({"apiVersion": scale::API_VERSION, "kind": "Scale", "metadata": {"name": "a", "uid": "u"},
            "spec": {"replicas": object["spec"]["replicas"]}});
        scale::with_managers(view, object, path)
    };
    let scaled = |live: &Value, replicas: i64| {
        let mut wanted = view(live);
        wanted["spec"]["replicas"] = replicas.into();
        let wanted = scale::update(&view(live), wanted, &scaler);
        let mut object = live.clone();
        object["spec"]["replicas"] = replicas.into();
        scale::to_object(object, &wanted, path, "t/v1")
    };
    let new = scaled(&live, 3);
    let found = |object: &Value| -> Vec<_> {
        entries(object).into_iter().map(|(manager, _, fields, time)| (manager, fields, time)).collect()
    };
    let time = Some("2027-01-15T08:00:00Z".to_owned());
    let replicas = json!({"f:spec": {"f:replicas": {}}});
    let rest = ("creator".to_owned(), json!({"f:spec": {".": {}, "f:x": {}}}), time);
    assert_eq!(found(&new), [("hpa".to_owned(), replicas.clone(), None), rest.clone()]);
    // A write without changes splits one entry into two: one for the object and one for its Scale.
    assert_eq!(found(&scaled(&live, 1)), [("creator".to_owned(), replicas, None), rest]);
    assert_eq!(scaled(&new, 3), new);
    let config = |replicas: i64| json!({"apiVersion": scale::API_VERSION, "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": replicas}});
    let conflict = scale::apply(&view(&live), &config(3), false, &scaler).unwrap_err();
    assert_eq!(conflict.code, 409);
    let shared = scale::apply(&view(&live), &config(1), false, &scaler).unwrap();
    assert_eq!(entries(&scale::to_object(live, &shared, path, "t/v1")).len(), 3);
}

#[test]
fn fields_that_cannot_be_read_are_refused_or_replaced() {
    let schema = free();
    let versions = OneSchema(&schema);
    let bad = [
        json!([{"manager": "m", "operation": "Nope", "apiVersion": "t/v1", "fieldsType": "FieldsV1", "fieldsV1": {}}]),
        json!([{"manager": "m", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {}}]),
        json!([{"manager": "m", "operation": "Update", "apiVersion": "t/v1", "fieldsType": "FieldsV2"}]),
        json!([{"manager": "m", "operation": "Update", "apiVersion": "t/v1", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:a": {"k:nope": {}}}}]),
        json!([{"manager": "m", "operation": "Update", "apiVersion": "t/v1", "fieldsType": "FieldsV1", "fieldsV1": []}]),
    ];
    let mut live = apply::update(None, object(json!({"a": 1})), &writer("m", &versions, now()));
    live["metadata"]["uid"] = "u".into();
    for fields in bad {
        let mut new = live.clone();
        new["metadata"]["managedFields"] = fields.clone();
        let updated = apply::update(Some(&live), new.clone(), &writer("m", &versions, now()));
        assert_eq!(entries(&updated), entries(&live), "{fields}");
        let refused =
            apply::apply(&new, &object(json!({})), true, &writer("n", &versions, now())).unwrap_err();
        assert!(refused.message.starts_with("failed to decode managed fields: "), "{}", refused.message);
    }
}
