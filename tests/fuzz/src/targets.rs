//! The parsers under test, and the checks of their results.

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

use crate::{classes, grammar, packets, templates};

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

/// Parses an input and describes the form of the result.
pub type Reader = Box<dyn FnMut(&[u8]) -> String>;

/// A parser under test.
pub struct Target {
    /// Folder of the target's inputs.
    pub name: &'static str,
    /// Words that the parser recognizes.
    pub words: &'static [&'static str],
    /// Generates inputs in the structure that the parser expects.
    pub grammar: Option<fn(&Random) -> String>,
    /// Creates a function that parses one input after the other and describes each result in a few words.
    pub reader: fn() -> Reader,
}

/// All targets.
pub const TARGETS: [Target; 21] = [
    Target {
        name: "json",
        words: &["\"a\":", "\\u00e9", "1E-7"],
        grammar: None,
        reader: || Box::new(json_body),
    },
    Target {
        name: "yaml",
        words: &["---\n", "|\n", ">-\n", "? ", "!!int ", "!!binary ", "0x1f", "yes"],
        grammar: Some(grammar::yaml),
        reader: || Box::new(yaml_body),
    },
    Target {
        name: "json-patch",
        words: &["op", "add", "remove", "replace", "move", "copy", "test", "path", "from", "value", "/a/-"],
        grammar: None,
        reader: || Box::new(json_patch),
    },
    Target {
        name: "strategic-merge",
        words: &[
            "$patch",
            "delete",
            "replace",
            "merge",
            "$retainKeys",
            "$setElementOrder/list",
            "$deleteFromPrimitiveList/set",
            "list",
            "set",
            "map",
            "name",
            "value",
        ],
        grammar: None,
        reader: || Box::new(strategic_merge),
    },
    Target {
        name: "fields-v1",
        words: &["f:spec", "f:metadata", "k:{\"name\":\"a\"}", "v:\"x\"", "i:0", ".", "f:"],
        grammar: None,
        reader: || Box::new(fields_v1),
    },
    Target {
        name: "selectors",
        words: &["a=b", "a==b", "a!=b", "a in (b,c)", "a notin (b)", "!a", "a>1", "metadata.name=x", "x/y"],
        grammar: None,
        reader: || Box::new(selectors),
    },
    Target {
        name: "cel",
        words: &[
            "self",
            "oldSelf",
            ".all(x, ",
            ".map(x, ",
            "has(self.a)",
            " in ",
            "size(",
            "duration('1h')",
            "optional.of(",
            ".matches('(a+)+$')",
            "?:",
            "9223372036854775807",
            ".?a.orValue(",
            "quantity('1Gi')",
        ],
        grammar: Some(grammar::rule),
        reader: || Box::new(rules),
    },
    Target {
        name: "crd-schemas",
        words: &[
            "type",
            "object",
            "array",
            "string",
            "integer",
            "properties",
            "items",
            "default",
            "x-kubernetes-list-type",
            "x-kubernetes-list-map-keys",
            "x-kubernetes-preserve-unknown-fields",
            "x-kubernetes-int-or-string",
            "x-kubernetes-embedded-resource",
            "x-kubernetes-validations",
            "additionalProperties",
            "nullable",
            "pattern",
            "format",
            "enum",
            "oneOf",
            "allOf",
            "not",
            "required",
        ],
        grammar: Some(grammar::schema),
        reader: || Box::new(crd_schemas),
    },
    Target {
        name: "protobuf",
        words: &["k8s\0", "v1", "ConfigMap", "Secret", "\n", "\u{12}", "\u{1a}", "\u{7f}"],
        grammar: None,
        reader: || Box::new(protobuf_body),
    },
    Target {
        name: "continue-tokens",
        words: &[
            "eyJ2IjoibWV0YS5rOHMuaW8vdjEi",
            "..",
            "%00",
            "=",
            "\"rv\":",
            "\"start\":",
            "\"v\":\"meta.k8s.io/v1\"",
        ],
        grammar: None,
        reader: continue_tokens,
    },
    Target {
        name: "dhcp",
        words: &[
            "c\u{2}Sc",
            "PXEClient:Arch:00007:UNDI:003016",
            "HTTPClient",
            "iPXE",
            "\u{35}\u{1}\u{3}",
            "\u{52}\u{6}\u{5}\u{4}",
        ],
        grammar: None,
        reader: packets::dhcp,
    },
    Target {
        name: "dhcp6",
        words: &["\0\u{1}\0\u{a}\0\u{3}\0\u{1}", "\0\u{3}\0\u{c}", "\0=\0\u{2}\0\u{10}", "\u{b}", "iPXE"],
        grammar: None,
        reader: || Box::new(packets::dhcp6),
    },
    Target {
        name: "tftp",
        words: &[
            "\0\u{1}",
            "\0octet\0",
            "blksize\0",
            "windowsize\0",
            "timeout\0",
            "tsize\0",
            "1468\0",
            "\0\u{4}",
        ],
        grammar: None,
        reader: || Box::new(packets::tftp),
    },
    Target {
        name: "rmcp",
        words: &["\u{6}\0\u{ff}\u{7}", "\u{6}\u{11}", "\u{6}\u{13}", "\u{6}\u{15}", "\0\0\0\u{8}\u{3}"],
        grammar: None,
        reader: || Box::new(crate::rmcp::datagram),
    },
    Target {
        name: "lldp",
        words: &["\u{4}leaf", "\u{1}\0\n", "\u{3}\0\u{14}\u{4}prov"],
        grammar: None,
        reader: || Box::new(packets::lldp),
    },
    Target { name: "tpm", words: &["\0 ", "\0\u{1}"], grammar: None, reader: || Box::new(packets::tpm) },
    Target {
        name: "fru",
        words: &["\u{1}\u{1}", "\u{c1}"],
        grammar: None,
        reader: || Box::new(crate::rmcp::inventory),
    },
    Target {
        name: "spdy",
        words: &["\0\u{3}\0\u{1}\0\0\0", "\0\0\0\u{1}", "\0\0\0\u{3}", "x\u{1}", "\0\0\0\u{4}port"],
        grammar: None,
        reader: || Box::new(crate::spdy::frames),
    },
    Target {
        name: "templates",
        words: &[
            "{{ ",
            " }}",
            "{{- ",
            " -}}",
            "if ",
            "else",
            "end",
            "range $i, $x := ",
            "with ",
            "define \"t\"",
            "template \"t\" .",
            "block \"b\" .",
            "break",
            "continue",
            "| ",
            "$x := ",
            ".list",
            "printf \"%v\" ",
            "(",
            ")",
            "until 1000",
            "repeat 1000 ",
            "regexReplaceAll ",
            "dict ",
            "list ",
        ],
        grammar: Some(templates::grammar),
        reader: || Box::new(templates::read),
    },
    Target {
        name: "class-patches",
        words: &[
            "patches",
            "definitions",
            "selector",
            "matchResources",
            "jsonPatches",
            "valueFrom",
            "variable",
            "template",
            "enabledIf",
            "external",
            "op",
            "path",
            "value",
            "add",
            "replace",
            "remove",
            "/spec/template/spec/list/-",
            "openAPIV3Schema",
            "values",
            "builtin",
        ],
        grammar: Some(classes::grammar),
        reader: || Box::new(classes::patches),
    },
    Target {
        name: "address-pools",
        words: &[
            "addresses",
            "excludedAddresses",
            "prefix",
            "gateway",
            "10.0.0.0/8",
            "10.0.0.1-10.0.0.9",
            "fd00::/64",
            "::ffff:1.2.3.4",
            "0.0.0.0/0",
        ],
        grammar: None,
        reader: || Box::new(classes::pool),
    },
];

/// Describes the form of a result, without its numbers and names.
pub fn like(result: &str) -> String {
    let mut words: Vec<&str> =
        result.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| word.len() > 3).collect();
    words.truncate(8);
    words.join(" ")
}

/// Describes the types of the values in the first levels, enough to distinguish inputs.
fn shape(value: &Value, depth: usize) -> String {
    match value {
        Value::Null => "n".into(),
        Value::Bool(_) => "b".into(),
        Value::Number(number) => if number.is_f64() { "f" } else { "i" }.into(),
        Value::String(_) => "s".into(),
        _ if depth == 0 => "…".into(),
        Value::Array(items) => {
            format!("[{}]", items.first().map_or_else(String::new, |item| shape(item, depth - 1)))
        }
        Value::Object(map) => {
            let fields: Vec<String> = map.values().take(4).map(|value| shape(value, depth - 1)).collect();
            format!("{{{}}}", fields.join(""))
        }
    }
}

fn answer<E: std::fmt::Display>(result: Result<&Value, E>) -> String {
    match result {
        Ok(value) => shape(value, 3),
        Err(error) => like(&error.to_string()),
    }
}

fn json_body(input: &[u8]) -> String {
    let decoded = decode::json(input);
    if let Ok(decoded) = &decoded {
        let text = decoded.value.to_string();
        let again = decode::json(text.as_bytes()).expect("what was written is read");
        assert_eq!(again.value, decoded.value, "written and read again");
    }
    answer(decoded.as_ref().map(|decoded| &decoded.value))
}

fn yaml_body(input: &[u8]) -> String {
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

fn json_patch(input: &[u8]) -> String {
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

fn strategic_merge(input: &[u8]) -> String {
    let patched = patch::strategic_merge_patch(&object(), input, &schema());
    answer(patched.as_ref().map(|patched| &patched.object).map_err(|status| &status.message))
}

/// Uses the input as `fieldsV1` of a managed fields entry; the object is then updated and applied.
fn fields_v1(input: &[u8]) -> String {
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

fn selectors(input: &[u8]) -> String {
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

fn rules(input: &[u8]) -> String {
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

fn crd_schemas(input: &[u8]) -> String {
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

fn protobuf_body(input: &[u8]) -> String {
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
fn continue_tokens() -> Reader {
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
