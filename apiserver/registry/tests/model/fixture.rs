//! Runs the registry and the model side by side.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use futures::FutureExt;
use machinery::clock::Clock;
use machinery::random::Random;
use machinery::status::Status;
use registry::{
    Context, DeleteOptions, EventType, Input, ListOptions, Options, PatchBody, Preconditions, Registry,
    Served, Subresource, Watch, WatchEvent, WatchOptions,
};
use serde_json::{Value, json};
use store::{Memory, Store};

use super::reference::{Change, Expect, Fields, Happened, Key, Model, Object, Outcome, Selector, changed};

#[derive(Clone, Debug)]
pub enum Step {
    Create { key: Key, manager: &'static str, change: Change, dry_run: bool },
    Update { key: Key, manager: &'static str, expect: Expect, change: Change, dry_run: bool },
    Patch { key: Key, manager: &'static str, expect: Expect, change: Change },
    TestAndSet { key: Key, manager: &'static str, expected: u8, size: u8 },
    Status { key: Key, manager: &'static str, phase: u8 },
    Apply { key: Key, manager: &'static str, config: Fields, force: bool },
    Delete { key: Key, uid: Expect, revision: Expect },
    DeleteCollection { namespace: &'static str, labels: &'static str },
    Get(Key),
    List { selector: Selector, limit: i64 },
    NextPage(usize),
    Watch { selector: Selector, back: Option<usize> },
    Drain(usize),
    DropWatch(usize),
}

/// A list that is read page by page while other requests continue.
struct Cursor {
    options: ListOptions,
    selector: Selector,
    revision: u64,
    /// The rest of the snapshot, including objects that are not selected.
    rest: Vec<(Key, Object)>,
}

struct Watching {
    watch: Watch,
    selector: Selector,
    /// The number of the model's changes that the watch has returned.
    seen: usize,
}

pub struct Fixture {
    registry: Registry,
    served: Served,
    model: Model,
    /// A watch of all changes, from which the model learns the revisions.
    log: Watch,
    cursors: Vec<Cursor>,
    watching: Vec<Watching>,
}

fn context(manager: &str) -> Context {
    Context { field_manager: manager.into(), ..Context::default() }
}

fn definition() -> Value {
    let settings = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let spec = json!({"type": "object", "properties": {"size": {"type": "integer"}, "settings": settings}});
    let status = json!({"type": "object", "properties": {"phase": {"type": "integer"}}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.model.test"},
        "spec": {"group": "model.test", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}}}]},
    })
}

/// Returns a body with the given fields and metadata. Each object has the label `app`, so that it always has a field
/// manager.
fn body(key: Key, fields: &Fields, metadata: Value) -> Value {
    let mut body =
        json!({"apiVersion": "model.test/v1", "kind": "Widget", "metadata": metadata, "spec": spec(fields)});
    body["metadata"]["name"] = key.1.into();
    body["metadata"]["labels"]["app"] = "w".into();
    // Ignored, because only the `status` subresource writes it.
    body["status"] = json!({"phase": 99});
    body
}

fn spec(fields: &Fields) -> Value {
    // Never empty: the handling of empty maps is tested in `machinery`.
    let mut spec = json!({"settings": {"base": "w"}});
    for (name, value) in fields {
        if *name == "size" {
            spec["size"] = (*value).into();
        } else {
            spec["settings"][name] = value.to_string().into();
        }
    }
    spec
}

fn metadata(tier: Option<&str>, finalizer: bool) -> Value {
    let mut metadata = json!({"labels": {}});
    if let Some(tier) = tier {
        metadata["labels"]["tier"] = tier.into();
    }
    if finalizer {
        metadata["finalizers"] = json!(["model.test/hold"]);
    }
    metadata
}

fn parse(text: &Bytes) -> Value {
    serde_json::from_slice(text).unwrap()
}

fn revision(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

fn key_of(object: &Value) -> (String, String) {
    let text = |name: &str| object["metadata"][name].as_str().unwrap().to_owned();
    (text("namespace"), text("name"))
}

/// Returns the next event if it is available immediately. Runs without tokio's budget, which would delay a task that
/// never yields.
fn ready(watch: &mut Watch) -> Option<WatchEvent> {
    tokio::task::unconstrained(watch.next()).now_or_never().flatten()
}

/// Returns the owners of the fields that the model contains.
fn owners(object: &Value) -> BTreeMap<(String, bool), BTreeSet<String>> {
    let mut owners = BTreeMap::new();
    for entry in object["metadata"]["managedFields"].as_array().into_iter().flatten() {
        let spec = &entry["fieldsV1"]["f:spec"];
        let settings = spec["f:settings"].as_object().into_iter().flatten().map(|(name, _)| name);
        let names = settings.chain(spec.get("f:size").map(|_| const { &String::new() }));
        let fields: BTreeSet<String> = names
            .filter(|name| !matches!(name.as_str(), "." | "f:base"))
            .map(
                |name| if name.is_empty() { "size".into() } else { name.trim_start_matches("f:").to_owned() },
            )
            .collect();
        if !fields.is_empty() && entry.get("subresource").is_none() {
            let apply = entry["operation"] == "Apply";
            owners.insert((entry["manager"].as_str().unwrap().to_owned(), apply), fields);
        }
    }
    owners
}

/// Compares all properties of an object that the model contains.
fn compare(found: &Value, wanted: &Object, what: &str) {
    let mut fields: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in found["spec"]["settings"].as_object().into_iter().flatten() {
        if name != "base" {
            fields.insert(name.clone(), value.as_str().unwrap().to_owned());
        }
    }
    fields.extend(found["spec"].get("size").map(|size| ("size".to_owned(), size.to_string())));
    let expected: BTreeMap<String, String> =
        wanted.fields.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())).collect();
    assert_eq!(fields, expected, "{what}: fields of {found}");
    let metadata = &found["metadata"];
    assert_eq!(
        metadata["labels"].get("tier").and_then(Value::as_str),
        wanted.tier,
        "{what}: labels of {found}"
    );
    assert_eq!(metadata["generation"], wanted.generation, "{what}: generation of {found}");
    assert_eq!(metadata.get("finalizers").is_some(), wanted.finalizer, "{what}: finalizers of {found}");
    assert_eq!(metadata.get("deletionTimestamp").is_some(), wanted.deleting, "{what}: deletion of {found}");
    let phase = found["status"].get("phase").and_then(Value::as_u64);
    assert_eq!(phase, wanted.phase.map(u64::from), "{what}: status of {found}");
    let owned: BTreeMap<(String, bool), BTreeSet<String>> = wanted
        .owners
        .iter()
        .map(|((manager, apply), fields)| {
            (((*manager).to_owned(), *apply), fields.iter().map(|field| (*field).to_owned()).collect())
        })
        .collect();
    assert_eq!(owners(found), owned, "{what}: owners of {found}");
    assert_eq!(revision(found), wanted.revision, "{what}: revision of {found}");
    if !wanted.uid.is_empty() {
        assert_eq!(metadata["uid"], wanted.uid, "{what}: UID of {found}");
    }
}

impl Fixture {
    pub async fn new() -> Self {
        let clock = Clock::simulated("2026-11-21T00:00:00Z".parse().unwrap());
        let store = Store::open(Memory::new(), clock.clone()).await.unwrap();
        let registry = Registry::open(store, clock, Random::seeded(1), Options::default()).await.unwrap();
        let create = async |group: &str, plural: &str, object: Value| {
            let served = registry.served(group, "v1", plural).unwrap();
            registry.create(&mut context("test"), &served, "", Input::new(object)).await.unwrap();
        };
        create("apiextensions.k8s.io", "customresourcedefinitions", definition()).await;
        for name in ["a", "b"] {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            create("", "namespaces", namespace).await;
        }
        let served = registry.served("model.test", "v1", "widgets").unwrap();
        let log = registry.watch(&mut context("test"), &served, "", &WatchOptions::default()).await.unwrap();
        let (model, cursors, watching) = (Model::default(), Vec::new(), Vec::new());
        Self { registry, served, model, log, cursors, watching }
    }

    /// Reads the revisions of the latest changes of the model.
    fn learn(&mut self) {
        let first = self.model.happened.iter().position(|happened| happened.revision == 0);
        let first = first.unwrap_or(self.model.happened.len());
        let mut last = first.checked_sub(1).map_or(0, |last| self.model.happened[last].revision);
        for happened in &mut self.model.happened[first..] {
            let event = ready(&mut self.log).expect("an event is missing");
            let object = parse(&event.object);
            assert_eq!(key_of(&object), (happened.key.0.to_owned(), happened.key.1.to_owned()));
            happened.revision = revision(&object);
            assert!(happened.revision > last, "revision {} after {last}", happened.revision);
            last = happened.revision;
            if let Some(after) = &mut happened.after {
                after.revision = last;
                after.uid = object["metadata"]["uid"].as_str().unwrap().to_owned();
                self.model.objects.insert(happened.key, after.clone());
            }
            check_event(&event.kind, &object, happened, (true, true));
        }
        let more = ready(&mut self.log);
        assert!(more.is_none(), "the model knows nothing of {more:?}");
    }

    /// Checks after a write that its answer and its changes match the model.
    fn settle(&mut self, key: Key, outcome: Outcome, answer: Result<Bytes, Status>, what: &str) {
        match (&answer, outcome) {
            (Ok(_), Outcome::Done) => {}
            (Err(status), wanted) if status.code == wanted.code() && wanted != Outcome::Done => {}
            _ => panic!("{what}: {answer:?}, the model says {outcome:?}"),
        }
        self.learn();
        // The answer to a write that removes the object contains the previous state.
        if let (Ok(object), Some(wanted)) = (answer, self.model.objects.get(&key)) {
            compare(&parse(&object), wanted, what);
        }
    }

    /// Returns the `resourceVersion` of a request.
    fn expected(&self, key: Key, expect: Expect) -> Option<String> {
        let current = self.model.objects.get(&key).map_or(1, |object| object.revision);
        match expect {
            Expect::Nothing => None,
            Expect::Current => Some(current.to_string()),
            Expect::Stale => Some((current - 1).to_string()),
        }
    }

    async fn create(&mut self, key: Key, manager: &'static str, change: &Change, dry_run: bool) {
        let fields = changed(&Fields::new(), change);
        let object =
            body(key, &fields, metadata(change.tier.flatten(), change.finalizer.unwrap_or_default()));
        let mut context = Context { dry_run, ..context(manager) };
        let answer = self.registry.create(&mut context, &self.served, key.0, Input::new(object)).await;
        if dry_run {
            let exists = self.model.objects.contains_key(&key);
            assert_eq!(answer.is_ok(), !exists, "dry run: {answer:?}");
            return self.learn();
        }
        let outcome = self.model.create(key, manager, change);
        self.settle(key, outcome, answer.map(|written| written.object), "create");
    }

    async fn update(
        &mut self,
        key: Key,
        manager: &'static str,
        expect: Expect,
        change: &Change,
        dry_run: bool,
    ) {
        let live = self.model.objects.get(&key).cloned().unwrap_or_default();
        let fields = changed(&live.fields, change);
        // A deleted object accepts no new finalizers, and already has one.
        let finalizer = change.finalizer.unwrap_or(live.finalizer);
        let mut object = body(key, &fields, metadata(change.tier.unwrap_or(live.tier), finalizer));
        if let Some(revision) = self.expected(key, expect) {
            object["metadata"]["resourceVersion"] = revision.into();
        }
        let mut context = Context { dry_run, ..context(manager) };
        let (registry, input) = (&self.registry, Input::new(object));
        let answer =
            registry.update(&mut context, &self.served, key.0, key.1, Subresource::None, input).await;
        if dry_run {
            let fits = !live.uid.is_empty() && expect == Expect::Current;
            assert_eq!(answer.is_ok(), fits, "dry run: {answer:?}");
            return self.learn();
        }
        let outcome = self.model.change(key, manager, expect, change, true);
        self.settle(key, outcome, answer.map(|written| written.object), "update");
    }

    async fn send(
        &self,
        key: Key,
        manager: &str,
        subresource: Subresource,
        body: PatchBody,
    ) -> Result<Bytes, Status> {
        let written =
            self.registry.patch(&mut context(manager), &self.served, key.0, key.1, subresource, body).await;
        written.map(|written| written.object)
    }

    async fn patch(&mut self, key: Key, manager: &'static str, expect: Expect, change: &Change) {
        let mut patch = json!({"metadata": {}});
        for (name, value) in &change.fields {
            let set =
                value.map(|value| if *name == "size" { json!(value) } else { value.to_string().into() });
            let parent = if *name == "size" { &mut patch["spec"] } else { &mut patch["spec"]["settings"] };
            parent[name] = set.unwrap_or_default();
        }
        if let Some(tier) = change.tier {
            patch["metadata"]["labels"] = json!({"tier": tier});
        }
        if let Some(finalizer) = change.finalizer {
            let hold = json!(["model.test/hold"]);
            patch["metadata"]["finalizers"] = if finalizer { hold } else { Value::Null };
        }
        if let Some(revision) = self.expected(key, expect) {
            patch["metadata"]["resourceVersion"] = revision.into();
        }
        let body = PatchBody::Merge(patch.to_string().into());
        let answer = self.send(key, manager, Subresource::None, body).await;
        let outcome = self.model.change(key, manager, expect, change, false);
        self.settle(key, outcome, answer, "patch");
    }

    async fn test_and_set(&mut self, key: Key, manager: &'static str, expected: u8, size: u8) {
        let patch = json!([
            {"op": "test", "path": "/spec/size", "value": expected},
            {"op": "replace", "path": "/spec/size", "value": size},
        ]);
        let body = PatchBody::Json(patch.to_string().into());
        let answer = self.send(key, manager, Subresource::None, body).await;
        let outcome = self.model.test_and_set(key, manager, expected, size);
        self.settle(key, outcome, answer, "JSON patch");
    }

    async fn status(&mut self, key: Key, manager: &'static str, phase: u8) {
        let patch =
            json!({"status": {"phase": phase}, "spec": {"size": 9}, "metadata": {"labels": {"tier": "z"}}});
        let body = PatchBody::Merge(patch.to_string().into());
        let answer = self.send(key, manager, Subresource::Status, body).await;
        let outcome = self.model.status(key, phase);
        self.settle(key, outcome, answer, "status");
    }

    async fn apply(&mut self, key: Key, manager: &'static str, config: &Fields, force: bool) {
        let input = Input::new(body(key, config, json!({"labels": {}})));
        let body = PatchBody::Apply { input, force };
        let answer = self.send(key, manager, Subresource::None, body).await;
        let outcome = self.model.apply(key, manager, config, force);
        self.settle(key, outcome, answer, "apply");
    }

    async fn delete(&mut self, key: Key, uid: Expect, revision: Expect) {
        let current = self.model.objects.get(&key).map(|object| object.uid.clone()).unwrap_or_default();
        let uid_text = match uid {
            Expect::Nothing => None,
            Expect::Current => Some(current),
            Expect::Stale => Some("another".to_owned()),
        };
        let preconditions = Preconditions { uid: uid_text, resource_version: self.expected(key, revision) };
        let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
        let answer = self.registry.delete(&mut context("test"), &self.served, key.0, key.1, &options).await;
        let outcome = self.model.delete(key, uid, revision);
        let answer = answer.map(|deleted| match deleted {
            registry::Deleted::Object { object, .. } => object,
            registry::Deleted::Status(status) => status.to_string().into(),
        });
        self.settle(key, outcome, answer, "delete");
    }

    async fn delete_collection(&mut self, namespace: &'static str, labels: &'static str) {
        let selector = Selector { namespace: Some(namespace), labels, name: None };
        let list = ListOptions { label_selector: labels.into(), ..ListOptions::default() };
        let (options, mut context) = (DeleteOptions::default(), context("test"));
        let answer =
            self.registry.delete_collection(&mut context, &self.served, namespace, &options, &list).await;
        let selected: Vec<Key> = self
            .model
            .objects
            .iter()
            .filter(|(key, object)| selector.matches(**key, object))
            .map(|(key, _)| *key)
            .collect();
        assert_eq!(answer.unwrap().items.len(), selected.len());
        for key in selected {
            self.model.delete(key, Expect::Nothing, Expect::Nothing);
        }
        self.learn();
    }

    async fn get(&self, key: Key) {
        let answer = self.registry.get(&self.served, key.0, key.1, Subresource::None, "").await;
        match (answer, self.model.objects.get(&key)) {
            (Ok(object), Some(wanted)) => compare(&parse(&object), wanted, "get"),
            (Err(status), None) => assert_eq!(status.code, 404),
            (answer, wanted) => panic!("{answer:?}, the model says {wanted:?}"),
        }
    }

    async fn list(&mut self, selector: Selector, limit: i64) {
        let field_selector = selector.name.map(|name| format!("metadata.name={name}")).unwrap_or_default();
        let options = ListOptions {
            label_selector: selector.labels.into(),
            field_selector,
            limit,
            ..ListOptions::default()
        };
        let rest = self.model.objects.iter().filter(|(key, _)| selector.covers(**key));
        let rest = rest.map(|(key, object)| (*key, object.clone())).collect();
        let cursor = Cursor { options, selector, revision: 0, rest };
        self.page(cursor).await;
    }

    /// Reads a page, and keeps the cursor if there are more pages.
    async fn page(&mut self, mut cursor: Cursor) {
        let namespace = cursor.selector.namespace.unwrap_or_default();
        let list =
            self.registry.list(&mut context("test"), &self.served, namespace, &cursor.options).await.unwrap();
        assert!(cursor.revision == 0 || list.resource_version == cursor.revision, "pages show one revision");
        let mut rest = cursor.rest.into_iter();
        for item in &list.items {
            let found = parse(&item.object);
            let (key, wanted) =
                rest.find(|(key, object)| cursor.selector.matches(*key, object)).expect("an item too many");
            assert_eq!(key_of(&found), (key.0.to_owned(), key.1.to_owned()));
            compare(&found, &wanted, "list");
        }
        cursor.rest = rest.collect();
        let left = cursor.rest.iter().filter(|(key, object)| cursor.selector.matches(*key, object)).count();
        if list.continue_token.is_empty() {
            return assert_eq!(left, 0, "items are missing");
        }
        assert_eq!(list.items.len() as i64, cursor.options.limit);
        if let Some(remaining) = list.remaining {
            assert_eq!(remaining, left as u64);
        }
        cursor.revision = list.resource_version;
        cursor.options.continue_token = list.continue_token;
        self.cursors.push(cursor);
    }

    /// Starts a watch, either with the current objects and then changes, or at an earlier revision.
    async fn watch(&mut self, selector: Selector, back: Option<usize>) {
        let seen = self.model.happened.len().saturating_sub(back.unwrap_or(0));
        let start = seen.checked_sub(1).map(|last| self.model.happened[last].revision);
        let (Some(start), true) = (start, back.is_some()) else { return self.watch_all(selector).await };
        let options = watch_options(&selector, &start.to_string());
        let watch = self.begin(&selector, &options).await;
        self.watching.push(Watching { watch, selector, seen });
    }

    async fn begin(&self, selector: &Selector, options: &WatchOptions) -> Watch {
        let namespace = selector.namespace.unwrap_or_default();
        self.registry.watch(&mut context("test"), &self.served, namespace, options).await.unwrap()
    }

    async fn watch_all(&mut self, selector: Selector) {
        let mut watch = self.begin(&selector, &watch_options(&selector, "")).await;
        for (key, wanted) in self.model.objects.iter().filter(|(key, object)| selector.matches(**key, object))
        {
            let event = ready(&mut watch).expect("an object is missing");
            let object = parse(&event.object);
            assert_eq!(
                (event.kind, key_of(&object)),
                (EventType::Added, (key.0.to_owned(), key.1.to_owned()))
            );
            compare(&object, wanted, "watch");
        }
        self.watching.push(Watching { watch, selector, seen: self.model.happened.len() });
    }

    fn drain(&mut self, index: usize) {
        let Some(watching) = self.watching.get_mut(index) else { return };
        for happened in &self.model.happened[watching.seen..] {
            let matches = |object: &Option<Object>| {
                object.as_ref().is_some_and(|object| watching.selector.matches(happened.key, object))
            };
            let selected = (matches(&happened.before), matches(&happened.after));
            let none = happened.after.is_none() && !selected.0;
            if selected == (false, false) || none {
                continue;
            }
            let event = ready(&mut watching.watch).expect("an event is missing");
            check_event(&event.kind, &parse(&event.object), happened, selected);
        }
        watching.seen = self.model.happened.len();
        let more = ready(&mut watching.watch);
        assert!(more.is_none(), "an event too many: {more:?}");
    }

    pub async fn finish(&mut self) {
        (0..self.watching.len()).for_each(|index| self.drain(index));
        self.list(Selector::default(), 0).await;
    }

    pub async fn step(&mut self, step: Step) {
        match step {
            Step::Create { key, manager, change, dry_run } => {
                self.create(key, manager, &change, dry_run).await
            }
            Step::Update { key, manager, expect, change, dry_run } => {
                self.update(key, manager, expect, &change, dry_run).await;
            }
            Step::Patch { key, manager, expect, change } => self.patch(key, manager, expect, &change).await,
            Step::TestAndSet { key, manager, expected, size } => {
                self.test_and_set(key, manager, expected, size).await
            }
            Step::Status { key, manager, phase } => self.status(key, manager, phase).await,
            Step::Apply { key, manager, config, force } => self.apply(key, manager, &config, force).await,
            Step::Delete { key, uid, revision } => self.delete(key, uid, revision).await,
            Step::DeleteCollection { namespace, labels } => self.delete_collection(namespace, labels).await,
            Step::Get(key) => self.get(key).await,
            Step::List { selector, limit } => self.list(selector, limit).await,
            Step::NextPage(index) if index < self.cursors.len() => {
                let cursor = self.cursors.remove(index);
                self.page(cursor).await;
            }
            Step::Watch { selector, back } => self.watch(selector, back).await,
            Step::Drain(index) => self.drain(index),
            Step::DropWatch(index) if index < self.watching.len() => drop(self.watching.remove(index)),
            Step::NextPage(_) | Step::DropWatch(_) => {}
        }
    }
}

fn watch_options(selector: &Selector, resource_version: &str) -> WatchOptions {
    WatchOptions {
        label_selector: selector.labels.into(),
        field_selector: selector.name.map(|name| format!("metadata.name={name}")).unwrap_or_default(),
        resource_version: resource_version.into(),
        ..WatchOptions::default()
    }
}

/// Checks an event. `selected` says whether the object matched the selectors before and after the change.
fn check_event(kind: &EventType, found: &Value, happened: &Happened, selected: (bool, bool)) {
    let (before, after) = (&happened.before, &happened.after);
    let wanted = match (before.as_ref().filter(|_| selected.0), after.as_ref().filter(|_| selected.1)) {
        (_, None) => EventType::Deleted,
        (None, Some(_)) => EventType::Added,
        (Some(_), Some(_)) => EventType::Modified,
    };
    assert_eq!(*kind, wanted, "{happened:?}");
    assert_eq!(revision(found), happened.revision, "{happened:?}");
    match (wanted, before, after) {
        (EventType::Deleted, Some(before), _) => {
            assert_eq!(found["metadata"]["uid"], before.uid, "{happened:?}");
            let tier = found["metadata"]["labels"].get("tier").and_then(Value::as_str);
            assert!(
                tier == before.tier || after.is_none(),
                "a deleted object is shown as it was: {happened:?}"
            );
        }
        (_, _, Some(after)) => compare(found, after, "event"),
        _ => {}
    }
}
