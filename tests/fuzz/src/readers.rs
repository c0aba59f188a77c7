//! Reads what an API server reads: each function gives an input to a parser and checks the result.

use apiextensions::{CompiledSchema, crd};
use cel::{Known, Rules};
use chrono::DateTime;
use futures::FutureExt;
use kinds::protobuf;
use machinery::apply::{self, Reset, Versions, Writer};
use machinery::clock::Clock;
use machinery::random::Random;
use machinery::schema::{self, Rule, Schema};
use machinery::selector::{FieldSelector, LabelSelector};
use machinery::{decode, patch};
use registry::{Context, ListOptions, Options, Registry};
use serde_json::{Value, json};
use store::{Memory, Store};

use crate::answers::{answer, like};

/// Parses an input and describes the form of the result.
pub type Reader = Box<dyn FnMut(&[u8]) -> String>;

/// A resource with the same schema in all versions, so that a conversion only changes `apiVersion`.
struct OneSchema<'a>(&'a Schema);

impl Versions for OneSchema<'_> {
    fn schema(&self, _api_version: &str) -> Option<&Schema> {
        Some(self.0)
    }

    fn convert(&self, object: &Value, api_version: &str) -> Option<Value> {
        let mut object = object.clone();
        object["apiVersion"] = api_version.into();
        Some(object)
    }
}

pub fn json_body(input: &[u8]) -> String {
    let decoded = decode::json(input);
    if let Ok(decoded) = &decoded {
        let text = decoded.value.to_string();
        let again = decode::json(text.as_bytes()).expect("what was written is read");
        assert_eq!(again.value, decoded.value, "written and read again");
    }
    answer(decoded.as_ref().map(|decoded| &decoded.value))
}

pub fn yaml_body(input: &[u8]) -> String {
    let decoded = decode::yaml(input);
    if let Ok(decoded) = &decoded {
        let again = decode::json(decoded.value.to_string().as_bytes()).expect("it is JSON");
        assert_eq!(again.value, decoded.value, "written and read again");
    }
    answer(decoded.as_ref().map(|decoded| &decoded.value))
}

fn object() -> Value {
    json!({"apiVersion": "v1", "kind": "T", "metadata": {"name": "a", "labels": {"x/y": "1"}},
        "a": [1, {"b": null}, []], "list": [{"name": "a", "value": 1}, {"name": "b"}], "set": ["a", "b"], "map": {"k": "v"}})
}

fn schema() -> Schema {
    let item =
        json!({"type": "object", "properties": {"name": {"type": "string"}, "value": {"type": "integer"}}});
    Schema::parse(&json!({"type": "object", "properties": {
        "list": {"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name"},
        "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set", "x-kubernetes-patch-strategy": "merge"},
        "map": {"type": "object", "additionalProperties": {"type": "string"}}}}))
    .unwrap()
}

pub fn json_patch(input: &[u8]) -> String {
    let merged = patch::merge_patch(&object(), input);
    if let Ok(merged) = &merged {
        let again = patch::merge_patch(&merged.object, input).expect("a merge patch applies again");
        assert_eq!(again.object, merged.object, "a merge patch changes nothing the second time");
    }
    let patched = patch::json_patch(&object(), input);
    format!(
        "{} {}",
        answer(patched.as_ref().map(|patched| &patched.object).map_err(|status| &status.message)),
        merged.is_ok()
    )
}

pub fn strategic_merge(input: &[u8]) -> String {
    let patched = patch::strategic_merge_patch(&object(), input, &schema());
    answer(patched.as_ref().map(|patched| &patched.object).map_err(|status| &status.message))
}

/// Uses the input as `fieldsV1` of a managed fields entry; the object is then updated and applied.
pub fn fields_v1(input: &[u8]) -> String {
    let Ok(fields) = decode::json(input) else { return "no JSON".into() };
    let schema = schema();
    let writer = Writer {
        manager: "m",
        api_version: "v1",
        subresource: "",
        reset: Reset::Nothing,
        now: DateTime::UNIX_EPOCH,
        versions: &OneSchema(&schema),
    };
    let mut live = object();
    live["metadata"]["uid"] = "u".into();
    live["metadata"]["managedFields"] = json!([{"manager": "o", "operation": "Apply", "apiVersion": "v1",
        "fieldsType": "FieldsV1", "fieldsV1": fields.value}]);
    let mut new = live.clone();
    new["set"] = json!(["c"]);
    let updated = apply::update(Some(&live), new, &writer);
    let again = apply::update(Some(&updated), updated.clone(), &writer);
    assert_eq!(again["metadata"]["managedFields"], updated["metadata"]["managedFields"], "nothing changed");
    let config = json!({"apiVersion": "v1", "kind": "T", "metadata": {"name": "a"}, "list": [{"name": "a"}]});
    let applied = apply::apply(&live, &config, true, &Writer { manager: "o", ..writer });
    answer(applied.as_ref().map_err(|status| &status.message))
}

pub fn selectors(input: &[u8]) -> String {
    let text = String::from_utf8_lossy(input);
    let labels = LabelSelector::parse(&text).map(drop);
    let fields = FieldSelector::parse(&text).map(drop);
    let told = |result: Result<(), String>| result.err().map_or_else(|| "read".into(), |error| like(&error));
    format!(
        "{} {}",
        told(labels.map_err(|error| error.to_string())),
        told(fields.map_err(|error| error.to_string()))
    )
}

pub fn rules(input: &[u8]) -> String {
    let source = String::from_utf8_lossy(input).into_owned();
    let rule = Rule { rule: source, ..Rule::default() };
    let properties = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "array", "items": {"type": "integer"}},
        "c": {"type": "object", "additionalProperties": {"type": "number"}}}});
    let mut schema = Schema::parse(&properties).unwrap();
    let (problems, _) = cel::problems(&schema, &rule, true);
    schema.rules = vec![rule];
    schema.has_rules = true;
    let value = json!({"a": "x", "b": [1, 2, 3], "c": {"d": 1.5}});
    Rules::of(&schema).validate(&schema, &value, Some(&value), Known::default());
    problems.first().map_or_else(|| "compiles".into(), |problem| like(&format!("{problem:?}")))
}

pub fn crd_schemas(input: &[u8]) -> String {
    let Ok(decoded) = decode::json(input) else { return "no JSON".into() };
    let mut definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.test"},
        "spec": {"group": "example.test", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": decoded.value.clone()}}]},
    });
    let errors = match crd::decode(&mut definition) {
        Ok(_) => {
            crd::default(&mut definition);
            crd::validate(&definition).first().map(|error| like(&format!("{error:?}"))).unwrap_or_default()
        }
        Err(error) => like(&error),
    };
    if let Ok(schema) = CompiledSchema::parse(&decoded.value) {
        let mut value = object();
        if schema::coerce(&schema, &mut value).is_ok() {
            schema::prune(&schema, &mut value);
            assert!(schema::prune(&schema, &mut value).is_empty(), "nothing unknown is left");
            schema::default(&schema, &mut value);
            schema.validate(&value, Some(&value), Vec::new(), Known::default());
        }
    }
    errors
}

pub fn protobuf_body(input: &[u8]) -> String {
    let decoded = protobuf::decode(input, Some(("v1", "ConfigMap")));
    if let Ok(value) = &decoded
        && let Some(bytes) = protobuf::encode(value)
    {
        let again = protobuf::decode(&bytes, None).expect("what was written is read");
        let bytes_again = protobuf::encode(&again);
        assert_eq!(bytes_again.as_deref(), Some(bytes.as_slice()), "written, read and written again");
    }
    answer(decoded.as_ref())
}

/// Lists with the input as `continue` token.
pub fn continue_tokens() -> Reader {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let registry = runtime.block_on(async {
        let clock = Clock::simulated(DateTime::UNIX_EPOCH);
        let store = Store::open(Memory::new(), clock.clone()).await.unwrap();
        Registry::open(store, clock, Random::seeded(1), Options::default()).await.unwrap()
    });
    let served = registry.served("", "v1", "namespaces").unwrap();
    Box::new(move |input| {
        let _inside = runtime.enter();
        let token = String::from_utf8_lossy(input).into_owned();
        let options = ListOptions { continue_token: token, limit: 1, ..ListOptions::default() };
        let mut context = Context::default();
        let list =
            tokio::task::unconstrained(registry.list(&mut context, &served, "", &options)).now_or_never();
        match list.expect("a list does not wait") {
            Ok(list) => format!("{} items", list.items.len()),
            Err(status) => {
                assert!(matches!(status.code, 400 | 410), "{status:?}");
                like(&status.message)
            }
        }
    })
}
