//! Server-side apply compared with the field manager of Kubernetes. `apply_cases/` contains the cases and describes
//! their format.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test, which prints how much it compared")]

use std::path::Path;

use chrono::DateTime;
use machinery::apply::{self, Reset, Versions, Writer};
use machinery::schema::{self, Schema};
use machinery::{meta, patch};
use serde_json::{Map, Value, json};

const GROUP: &str = "merge.test";

/// A kind with two versions, in which `spec.title` of v1 is `spec.caption` of v2.
struct Schemas {
    v1: Schema,
    v2: Schema,
}

impl Schemas {
    fn load(name: &str) -> Self {
        let all: Value = serde_json::from_str(include_str!("apply_cases/schemas.json")).unwrap();
        let mut properties = all[name].clone();
        assert!(properties.is_object(), "no schema {name}");
        let parse = |properties: &Value| {
            let mut object = json!({"type": "object", "properties": properties});
            for name in ["apiVersion", "kind"] {
                object["properties"][name] = json!({"type": "string"});
            }
            object["properties"]["metadata"] = json!({"type": "object"});
            Schema::parse(&object).unwrap()
        };
        let v1 = parse(&properties);
        rename(properties["spec"].get_mut("properties"), "title", "caption");
        Self { v1, v2: parse(&properties) }
    }

    fn of(&self, version: &str) -> &Schema {
        if version == "v2" { &self.v2 } else { &self.v1 }
    }
}

fn rename(map: Option<&mut Value>, from: &str, to: &str) {
    if let Some(map) = map.and_then(Value::as_object_mut)
        && let Some(value) = map.remove(from)
    {
        map.insert(to.to_owned(), value);
    }
}

fn api_version(version: &str) -> String {
    format!("{GROUP}/{version}")
}

fn converted(object: &Value, version: &str) -> Value {
    let mut object = object.clone();
    if meta::api_version(&object) != api_version(version) {
        let (from, to) = if version == "v2" { ("title", "caption") } else { ("caption", "title") };
        rename(object.get_mut("spec"), from, to);
        object["apiVersion"] = api_version(version).into();
    }
    object
}

impl Versions for Schemas {
    fn schema(&self, api_version: &str) -> Option<&Schema> {
        let (_, version) = meta::group_version(api_version);
        Some(self.of(version))
    }

    fn convert(&self, object: &Value, api_version: &str) -> Option<Value> {
        let (_, version) = meta::group_version(api_version);
        Some(converted(object, version))
    }
}

struct Server {
    schemas: Schemas,
    live: Option<Value>,
}

/// The parameters of a step without its body.
#[derive(Default)]
struct Step<'a> {
    manager: &'a str,
    verb: &'a str,
    version: &'a str,
    subresource: &'a str,
    force: bool,
}

impl<'a> Step<'a> {
    fn parse(text: &'a str) -> Self {
        let mut words = text.split_whitespace();
        let mut step = Step {
            manager: words.next().unwrap(),
            verb: words.next().unwrap(),
            version: "v1",
            ..Step::default()
        };
        for word in words {
            match word {
                "status" => step.subresource = word,
                "force" => step.force = true,
                "v2" => step.version = word,
                other => panic!("{other} in {text:?}"),
            }
        }
        step
    }
}

impl Server {
    fn new(schema: &str) -> Self {
        Self { schemas: Schemas::load(schema), live: None }
    }

    fn write(&mut self, step: &Step<'_>, mut body: Value) -> Result<(), String> {
        let status: &[&[&str]] = &[&["status"]];
        let api_version = api_version(step.version);
        let writer = Writer {
            manager: step.manager,
            api_version: &api_version,
            subresource: step.subresource,
            reset: if step.subresource.is_empty() { Reset::Fields(status) } else { Reset::AllBut(status) },
            now: DateTime::from_timestamp(1_800_000_000, 0).unwrap(),
            versions: &self.schemas,
        };
        if step.verb != "patch" {
            body["apiVersion"] = api_version.clone().into();
            body["kind"] = "Widget".into();
            meta::metadata_mut(&mut body).unwrap().insert("name".to_owned(), "a".into());
        }
        let schema = self.schemas.of(step.version);
        let live = self.live.clone().map(|mut live| {
            // Objects are pruned when they are read from the store.
            schema::prune(&self.schemas.v1, &mut live);
            converted(&live, step.version)
        });
        let mut new = if step.verb == "apply" {
            let empty = json!({"apiVersion": api_version, "kind": "Widget"});
            let live = live.as_ref().unwrap_or(&empty);
            apply::apply(live, &body, step.force, &writer).map_err(|status| status.message)?
        } else {
            if step.verb == "patch" {
                body =
                    patch::merge_patch(live.as_ref().unwrap(), body.to_string().as_bytes()).unwrap().object;
            }
            schema::prune(schema, &mut body);
            schema::drop_nulls(schema, &mut body);
            schema::default(schema, &mut body);
            if live.is_some() {
                body["metadata"]["uid"] = "u".into();
            }
            apply::update(live.as_ref(), body, &writer)
        };
        schema::default(schema, &mut new);
        let mut stored = self.after_strategy(live, new, step);
        meta::metadata_mut(&mut stored).unwrap().insert("uid".to_owned(), "u".into());
        self.live = Some(converted(&stored, "v1"));
        Ok(())
    }

    /// Applies the strategy of the path, which resets the fields that belong to the other path.
    fn after_strategy(&self, live: Option<Value>, mut new: Value, step: &Step<'_>) -> Value {
        let live = live.unwrap_or_else(|| json!({}));
        let (mut kept, from) = if step.subresource.is_empty() { (new, live) } else { (live, new.take()) };
        if step.subresource == "status" {
            let metadata = meta::metadata_mut(&mut kept).unwrap();
            match from["metadata"].get("managedFields") {
                Some(fields) => drop(metadata.insert("managedFields".to_owned(), fields.clone())),
                None => drop(metadata.remove("managedFields")),
            }
        }
        match from.get("status") {
            Some(status) => kept["status"] = status.clone(),
            None => drop(kept.as_object_mut().unwrap().remove("status")),
        }
        kept
    }

    /// Returns the object without its identity, followed by the owners of its fields.
    fn state(&self) -> Vec<String> {
        let mut shown = self.live.clone().unwrap();
        let map = shown.as_object_mut().unwrap();
        map.remove("apiVersion");
        map.remove("kind");
        let metadata = map["metadata"].as_object_mut().unwrap();
        let fields = metadata.remove("managedFields").unwrap_or_default();
        for name in ["name", "uid", "creationTimestamp"] {
            metadata.remove(name);
        }
        if metadata.is_empty() {
            map.remove("metadata");
        }
        let mut owners: Vec<String> = fields.as_array().into_iter().flatten().map(owner).collect();
        owners.sort();
        owners.insert(0, format!("  = {}", sorted(&shown)));
        owners
    }
}

fn owner(entry: &Value) -> String {
    let text = |name: &str| entry[name].as_str().unwrap_or_default();
    let (_, version) = meta::group_version(text("apiVersion"));
    let subresource =
        if text("subresource").is_empty() { String::new() } else { format!(" {}", text("subresource")) };
    let fields = sorted(&entry["fieldsV1"]);
    format!("  {} {} {version}{subresource} {fields}", text("manager"), text("operation"))
}

/// Returns the value with the fields of each map sorted.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(name, _)| *name);
            let entries = entries.into_iter().map(|(name, value)| (name.clone(), sorted(value)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

/// Sorts the errors of a message, because kube-apiserver reports them in any order.
fn one_line(message: &str) -> String {
    let mut lines: Vec<&str> = message.split('\n').collect();
    if lines[0].ends_with("errors:") {
        lines[1..].sort_unstable();
    }
    lines.join("\\n")
}

/// Plays one case and returns the lines that it should consist of.
fn play(lines: &[&str]) -> Vec<String> {
    let mut played = Vec::new();
    let mut server = None;
    for line in lines.iter().filter(|line| !line.starts_with("  ")) {
        played.push((*line).to_owned());
        match line.split_once(' ').unwrap() {
            ("case" | "#", _) => {}
            ("new", name) => server = Some(Server::new(name)),
            ("schema", name) => server.as_mut().unwrap().schemas = Schemas::load(name),
            _ => {
                let at = line.find('{').unwrap();
                let body = machinery::decode::json(&line.as_bytes()[at..]).unwrap().value;
                let server = server.as_mut().unwrap();
                match server.write(&Step::parse(&line[..at]), body) {
                    Ok(()) => played.extend(server.state()),
                    Err(message) => played.push(format!("  ! {}", one_line(&message))),
                }
            }
        }
    }
    played
}

#[test]
fn as_the_field_manager_of_kubernetes() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../machinery")).join("tests/apply_cases");
    let (mut cases, mut steps, mut failures) = (0, 0, Vec::new());
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        for case in lines.chunk_by(|_, next| !next.starts_with("case ")) {
            cases += 1;
            steps += case.iter().filter(|line| line.starts_with("  = ") || line.starts_with("  ! ")).count();
            let played = play(case);
            if played != case {
                let name = path.file_stem().unwrap().to_string_lossy();
                failures.push(format!("{name}: {}", difference(case, &played)));
            }
        }
    }
    eprintln!("{cases} cases, {steps} steps");
    assert!(cases >= 150 && steps >= 2 * cases, "{cases} cases, {steps} steps: where are they?");
    assert!(failures.is_empty(), "{} cases differ\n{}", failures.len(), failures.join("\n"));
}

fn difference(wanted: &[&str], played: &[String]) -> String {
    let mut text = wanted[0].to_owned();
    let mut step = "";
    for position in 0..wanted.len().max(played.len()) {
        let (wanted, played) = (wanted.get(position).copied(), played.get(position).map(String::as_str));
        if wanted != played {
            let line = |line: Option<&str>| line.unwrap_or("  nothing").to_owned();
            return text + &format!("\n  {step}\n  wanted {}\n  got    {}", line(wanted), line(played));
        }
        step = wanted.filter(|line| !line.starts_with("  ")).unwrap_or(step);
    }
    text.push_str("\n  the same");
    text
}
