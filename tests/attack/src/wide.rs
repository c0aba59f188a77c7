//! Sends every list of every kind with as many items as fit into a request, all equal and all different: the
//! work must grow linearly with the items. The lists come from the server's OpenAPI documents, so that new
//! kinds are included automatically.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::Result;
use http::Method;
use machinery::clock::Clock;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::caller::{Ask, Caller};
use crate::lab::{Lab, MINE, Options};
use crate::report::Broken;
use crate::routes::{Resource, is_fault, resources, shuffle};

/// Number of items in a list, as far as [`BYTES`] allows.
const ITEMS: usize = 20_000;
/// Size of all items together; a body may have 3 MiB.
const BYTES: usize = 2_600_000;
/// Maximum depth of a list within an object.
const DEPTH: usize = 8;
/// Number of lists tried without `--full`.
const SOME: usize = 40;
/// Limit for one request. Quadratic work takes longer on any machine, linear work a tenth.
const LONGEST: Duration = Duration::from_secs(10);
/// Limit for the whole scenario, and with `--full`; what is not tried by then is a violation.
const ALL: Duration = Duration::from_secs(10 * 60);
const ALL_FULL: Duration = Duration::from_secs(2 * 3600);
/// The interval at which the progress is printed.
const PROGRESS: Duration = Duration::from_secs(10);
/// How many of the slowest requests are shown.
const SHOWN: usize = 5;

/// A list: its resource, the path to it, and the schema of its items.
struct List<'s> {
    resource: &'s Resource,
    way: Vec<Step>,
    items: &'s Value,
}

#[derive(Clone)]
enum Step {
    Field(String),
    Item,
}

/// Runs the scenario.
pub async fn run(options: &Options) -> Result<Broken> {
    let lab = Lab::start(options).await?;
    lab.furnish().await?;
    let mut admin = lab.admin()?;
    let resources = resources(&mut admin).await?;
    let documents = documents(&mut admin, &resources).await?;
    let mut lists = lists(&resources, &documents);
    let known = lists.len();
    shuffle(&mut lists, options.seed);
    if !options.full {
        lists.truncate(SOME);
    }
    let mut broken = Broken::default();
    let mut slowest: Vec<(Duration, String)> = Vec::new();
    let mut progress = Progress::start(lists.len(), options);
    for (tried, list) in lists.iter().enumerate() {
        if !progress.goes_on(tried, slowest.len()) {
            broken.add(format!("{tried} of {} lists were tried within {:?}", lists.len(), progress.limit));
            break;
        }
        let schemas = &documents[&list.resource.root()]["components"]["schemas"];
        for alike in [false, true] {
            let object = object(list, schemas, alike);
            for (what, time, code, is_fault) in send(&mut admin, list, object).await? {
                let name = format!(
                    "{} {} {}{}",
                    what,
                    list.resource.plural,
                    shown(&list.way),
                    if alike { ", all alike" } else { "" }
                );
                if time > LONGEST * options.slack {
                    broken.add(format!("{name}: {code} after {} ms", time.as_millis()));
                }
                if is_fault {
                    broken.add(format!("{name}: {code}"));
                }
                slowest.push((time, name));
            }
        }
    }
    slowest.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
    let first: Vec<String> =
        slowest.iter().take(SHOWN).map(|(time, name)| format!("{} ms ({name})", time.as_millis())).collect();
    broken.figures = format!(
        "{} of {known} lists, {} requests, the longest {}",
        lists.len(),
        slowest.len(),
        first.join(", ")
    );
    Ok(broken)
}

/// Prints how far the scenario is, and ends it in time.
struct Progress {
    lists: usize,
    limit: Duration,
    start: Instant,
    printed: Instant,
}

impl Progress {
    fn start(lists: usize, options: &Options) -> Self {
        let limit = if options.full { ALL_FULL } else { ALL } * options.slack;
        let start = Clock::system().monotonic();
        Self { lists, limit, start, printed: start }
    }

    /// Returns whether there is time for another list.
    fn goes_on(&mut self, tried: usize, requests: usize) -> bool {
        let now = Clock::system().monotonic();
        if now - self.printed >= PROGRESS {
            self.printed = now;
            println!(
                "  {tried} of {} lists, {requests} requests, {} s",
                self.lists,
                (now - self.start).as_secs()
            );
        }
        now - self.start < self.limit
    }
}

/// Returns the OpenAPI documents of all groups, by path.
async fn documents(admin: &mut Caller, resources: &[Resource]) -> Result<BTreeMap<String, Value>> {
    let mut all = BTreeMap::new();
    for root in resources.iter().map(Resource::root).collect::<BTreeSet<_>>() {
        let document = admin.get(&format!("/openapi/v3{root}")).await?;
        all.insert(root, document);
    }
    Ok(all)
}

fn lists<'s>(resources: &'s [Resource], documents: &'s BTreeMap<String, Value>) -> Vec<List<'s>> {
    let mut found = Vec::new();
    for resource in resources.iter().filter(|resource| resource.verbs.contains("create")) {
        let schemas = &documents[&resource.root()]["components"]["schemas"];
        let is_its = |schema: &Value| {
            let kinds = schema["x-kubernetes-group-version-kind"].as_array();
            kinds.into_iter().flatten().any(|one| {
                one["group"] == *resource.group
                    && one["version"] == *resource.version
                    && one["kind"] == *resource.kind
            })
        };
        let schema =
            schemas.as_object().into_iter().flatten().map(|(_, schema)| schema).find(|one| is_its(one));
        if let Some(schema) = schema {
            walk(schema, schemas, &mut Vec::new(), &mut |way, items| {
                found.push(List { resource, way: way.to_vec(), items });
            });
        }
    }
    found
}

/// Resolves a reference.
fn followed<'s>(schema: &'s Value, schemas: &'s Value) -> &'s Value {
    let reference = schema["$ref"].as_str().or_else(|| schema["allOf"][0]["$ref"].as_str());
    match reference.and_then(|reference| reference.rsplit('/').next()) {
        Some(name) => &schemas[name],
        None => schema,
    }
}

fn walk<'s>(
    schema: &'s Value,
    schemas: &'s Value,
    way: &mut Vec<Step>,
    found: &mut impl FnMut(&[Step], &'s Value),
) {
    let schema = followed(schema, schemas);
    if way.len() >= DEPTH {
        return;
    }
    if schema["type"] == "array" {
        found(way, &schema["items"]);
        way.push(Step::Item);
        walk(&schema["items"], schemas, way, found);
        way.pop();
    }
    for (name, below) in schema["properties"].as_object().into_iter().flatten() {
        // Server-written and recursive fields are skipped.
        if name == "managedFields"
            || way.iter().any(|step| matches!(step, Step::Field(before) if before == name))
        {
            continue;
        }
        way.push(Step::Field(name.clone()));
        walk(below, schemas, way, found);
        way.pop();
    }
}

/// Returns an object with a full list and only the required parents.
fn object(list: &List<'_>, schemas: &Value, alike: bool) -> Value {
    let (mut items, mut bytes) = (Vec::new(), 0);
    for index in 0..ITEMS {
        let item = example(list.items, schemas, if alike { 0 } else { index }, 2);
        bytes += item.to_string().len() + 1;
        if bytes > BYTES {
            break;
        }
        items.push(item);
    }
    let mut value = Value::Array(items);
    for step in list.way.iter().rev() {
        value = match step {
            Step::Field(name) => json!({name: value}),
            Step::Item => {
                let mut one = example(&Value::Null, schemas, 0, 0);
                if let (Value::Object(one), Value::Object(below)) = (&mut one, value) {
                    one.extend(below);
                }
                json!([one])
            }
        };
    }
    let mut object = value.as_object().cloned().unwrap_or_default();
    object.insert("apiVersion".to_owned(), list.resource.api_version().into());
    object.insert("kind".to_owned(), list.resource.kind.clone().into());
    let metadata = object.entry("metadata").or_insert_with(|| json!({}));
    metadata["name"] = "wide".into();
    Value::Object(object)
}

/// Returns a value that the schema's types allow; each number gives a different value. Objects have their
/// fields down to `depth` levels.
fn example(schema: &Value, schemas: &Value, number: usize, depth: usize) -> Value {
    let schema = followed(schema, schemas);
    match schema["type"].as_str().unwrap_or_default() {
        "string" if schema["format"] == "date-time" => "2026-01-01T00:00:00Z".into(),
        "string" if schema["format"] == "byte" => "YQ==".into(),
        "string" => format!("n{number}").into(),
        "integer" | "number" => (number + 1).into(),
        "boolean" => true.into(),
        "array" => json!([]),
        _ if depth == 0 => json!({}),
        _ => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            let scalars = fields.filter(|(_, field)| {
                let kind = &followed(field, schemas)["type"];
                ["string", "integer", "number"].iter().any(|scalar| kind == scalar)
            });
            Value::Object(
                scalars
                    .map(|(name, field)| (name.clone(), example(field, schemas, number, depth - 1)))
                    .collect::<Map<_, _>>(),
            )
        }
    }
}

/// Action, duration, status code, and whether the server reports an internal error.
type Outcome = (&'static str, Duration, u16, bool);

/// Creates the object and, if it is accepted, writes it again in each way.
async fn send(admin: &mut Caller, list: &List<'_>, object: Value) -> Result<Vec<Outcome>> {
    const JSON: &str = "application/json";
    let collection = list.resource.collection(MINE);
    let one = format!("{collection}/wide");
    let body = object.to_string();
    let apply = Ask::new(Method::PATCH, format!("{one}?fieldManager=wide&force=true"))
        .body("application/apply-patch+yaml", body.clone());
    let merge = Ask::new(Method::PATCH, &one).body("application/strategic-merge-patch+json", body.clone());
    let replace = Ask::new(Method::PUT, &one).body(JSON, reversed(object, &list.way).to_string());
    let all = [
        ("create", "create", Ask::new(Method::POST, &collection).body(JSON, body)),
        ("apply", "patch", apply.clone()),
        ("apply again", "patch", apply),
        ("strategic merge", "patch", merge),
        ("replace", "update", replace),
    ];
    let clock = Clock::system();
    let mut outcomes = Vec::new();
    for (what, _, ask) in all.iter().filter(|(_, verb, _)| list.resource.verbs.contains(*verb)) {
        let start = clock.monotonic();
        match admin.send(ask).await {
            Ok(answer) => outcomes.push((*what, start.elapsed(), answer.code, is_fault(&answer))),
            // The body was refused before it was read. The next request shows whether the server is alive.
            Err(_) => drop(admin.get("/version").await?),
        }
    }
    if list.resource.verbs.contains("delete") {
        admin.send(&Ask::new(Method::DELETE, &one)).await?;
    }
    Ok(outcomes)
}

/// Returns the object with its list reversed.
fn reversed(mut object: Value, way: &[Step]) -> Value {
    let mut place = &mut object;
    for step in way {
        place = match step {
            Step::Field(name) => &mut place[name.as_str()],
            Step::Item => &mut place[0],
        };
    }
    if let Some(items) = place.as_array_mut() {
        items.reverse();
    }
    object
}

fn shown(way: &[Step]) -> String {
    let steps = way.iter().map(|step| match step {
        Step::Field(name) => format!(".{name}"),
        Step::Item => "[]".to_owned(),
    });
    steps.collect()
}
