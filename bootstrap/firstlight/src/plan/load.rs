//! Fills the simulated server with the state of a real one. Objects keep their UIDs, owners, status and times.
//!
//! Invariant: objects that could not be read cause no deletion and no start. An owner that is not there is removed from its objects, so
//! that the garbage collector leaves them alone, and Secrets, which are never read, have stand-ins.

use machinery::meta::{name, namespace};
use server::names::FIELD_MANAGER;
use server::plane::Plane;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use machinery::clock::Clock;
use registry::{Context, Input, PatchBody, Registry, Subresource};
use serde_json::{Value, json};
use store::{Key, Memory, Operation, Revision, Store};

use super::certificates;
use super::create::create;
use super::network::Hosts;
use super::object::Reference;
use super::state::State;
use crate::limits::PLAN_COMMIT;
use crate::simulation;

/// What a user should know of the difference between the server and its copy, each a sentence.
pub type Notes = Vec<String>;

/// Fills `disk`, which is empty, with `state`. `wanted` are the namespaces of the manifests. Random numbers come from `seed`, which must not be
/// that of the server that runs on the disk later: both would draw the same UIDs.
///
/// No server runs while the objects are stored. Its garbage collector would see them one after the other, and delete those whose owners
/// come later.
///
/// # Errors
/// The objects cannot be stored.
pub fn load(
    disk: &Memory,
    state: &State,
    wanted: &BTreeSet<&str>,
    clock: &Clock,
    seed: u64,
) -> Result<Notes> {
    let mut notes = Notes::new();
    let network = Arc::new(Hosts::default());
    let operations = simulation::paused_runtime()?.block_on(async {
        let (_, plane) = simulation::start(disk.clone(), clock, seed, network).await?;
        install(&plane.registry, state, &mut notes).await;
        create_namespaces(&plane.client(FIELD_MANAGER), state, wanted).await?;
        operations(&plane.registry, state, &mut notes)
    })?;
    simulation::paused_runtime()?.block_on(async {
        let store = Store::open(disk.clone(), clock.clone()).await?;
        let mut operations = operations.into_iter().peekable();
        while operations.peek().is_some() {
            let batch = operations.by_ref().take(PLAN_COMMIT).collect();
            store.commit(batch).await.context("cannot store the objects of the server")?;
        }
        Ok(notes)
    })
}

/// Creates the Secrets that the controllers need, in the server of `plane` with the objects of `state`.
///
/// # Errors
/// The server refuses a Secret.
pub async fn create_secrets(plane: &Plane, state: &State) -> Result<()> {
    let client = plane.client(FIELD_MANAGER);
    for cluster in state.objects.iter().filter(|object| is_cluster(object)) {
        certificates::ensure(&client, plane.dependencies(), cluster).await?;
    }
    for (namespace, name, keys) in referenced_secrets(&state.objects) {
        let data: BTreeMap<String, &str> = keys.into_iter().map(|key| (key, "placeholder")).collect();
        let secret =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data});
        create(&client, &format!("/api/v1/namespaces/{namespace}/secrets"), &secret).await?;
    }
    Ok(())
}

/// Installs the kinds that this program does not have: those of other providers.
async fn install(registry: &Registry, state: &State, notes: &mut Notes) {
    for kind in &state.kinds {
        if registry.definitions().get(&kind.group, &kind.plural).is_some() {
            continue;
        }
        let name = format!("{}.{}", kind.plural, kind.group);
        let known =
            state.definitions.iter().find(|definition| definition["metadata"]["name"] == name.as_str());
        let definition = known.map_or_else(|| unknown_definition(kind, &name), copied_definition);
        let mut context = Context::internal(FIELD_MANAGER);
        let Some(served) = registry.served("apiextensions.k8s.io", "v1", "customresourcedefinitions") else {
            return;
        };
        let patch = PatchBody::Apply { input: Input::new(definition), force: true };
        let outcome = registry.patch(&mut context, &served, "", &name, Subresource::None, patch).await;
        if let Err(error) = outcome {
            notes.push(format!("{name} cannot be served, so its objects are left out: {error}"));
        }
    }
}

/// Returns a definition without what refers to other processes, and with one version served and stored.
fn copied_definition(definition: &Value) -> Value {
    let metadata = &definition["metadata"];
    let mut spec = definition["spec"].clone();
    spec["conversion"] = json!({"strategy": "None"});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": metadata["name"], "labels": metadata["labels"]},
        "spec": spec,
    })
}

/// Returns a definition with any content, for a kind whose definition the user may not read.
fn unknown_definition(kind: &super::state::Kind, name: &str) -> Value {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name, "labels": {"cluster.x-k8s.io/v1beta2": kind.version}},
        "spec": {
            "group": kind.group,
            "names": {
                "kind": kind.kind,
                "listKind": format!("{}List", kind.kind),
                "plural": kind.plural,
                "singular": kind.kind.to_lowercase(),
            },
            "scope": if kind.namespaced { "Namespaced" } else { "Cluster" },
            "versions": [{
                "name": kind.version,
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": any},
                "subresources": {"status": {}},
            }],
        },
    })
}

/// Creates the namespaces of all objects, and those of the manifests that exist, or of which nobody knows whether they do.
async fn create_namespaces(client: &kube::Client, state: &State, wanted: &BTreeSet<&str>) -> Result<()> {
    let of_objects = state.objects.iter().map(namespace).filter(|name| !name.is_empty());
    let exists =
        |name: &str| state.namespaces.as_ref().is_none_or(|all| all.iter().any(|known| known == name));
    let names: BTreeSet<&str> =
        wanted.iter().copied().filter(|name| exists(name)).chain(of_objects).collect();
    for name in names {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        create(client, "/api/v1/namespaces", &object).await?;
    }
    Ok(())
}

/// Returns the operations that store the objects, each in its stored version.
fn operations(registry: &Registry, state: &State, notes: &mut Notes) -> Result<Vec<Operation>> {
    let definitions = registry.definitions();
    let uid = |object: &Value| object["metadata"]["uid"].as_str().map(str::to_owned);
    let uids: BTreeSet<String> = state.objects.iter().filter_map(uid).collect();
    let (mut operations, mut ownerless) = (Vec::new(), 0);
    for object in &state.objects {
        let reference = Reference::of(object);
        let Some(definition) = definitions.by_kind(reference.group, reference.kind) else { continue };
        let mut object = definition.converted(object.clone(), &definition.storage_version);
        ownerless += usize::from(remove_absent_owners(&mut object, &uids));
        let in_namespace = Some(namespace(&object)).filter(|_| definition.namespaced);
        let key = Key::new(&definition.group, &definition.plural, in_namespace, name(&object))?;
        operations.push(Operation::create(key, move |revision| stored(object, revision)));
    }
    if ownerless > 0 {
        notes.push(format!("{ownerless} objects have owners that were not read; in the plan they have none"));
    }
    Ok(operations)
}

fn stored(mut object: Value, revision: Revision) -> Bytes {
    object["metadata"]["resourceVersion"] = revision.to_string().into();
    object.to_string().into()
}

/// Removes the owners that are not there. Returns whether there was one.
fn remove_absent_owners(object: &mut Value, uids: &BTreeSet<String>) -> bool {
    let owners = object.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut);
    let Some(owners) = owners else { return false };
    let before = owners.len();
    owners.retain(|owner| owner["uid"].as_str().is_some_and(|uid| uids.contains(uid)));
    owners.len() < before
}

fn is_cluster(object: &Value) -> bool {
    let reference = Reference::of(object);
    (reference.group, reference.kind) == ("cluster.x-k8s.io", "Cluster")
}

/// Returns the Secrets from which bootstrap configurations take files and passwords: namespace, name and keys.
fn referenced_secrets(objects: &[Value]) -> Vec<(String, String, BTreeSet<String>)> {
    let mut found: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for object in objects {
        collect_secrets(object, &mut |name, key| {
            let keys = found.entry((namespace(object).to_owned(), name.to_owned())).or_default();
            keys.insert(key.to_owned());
        });
    }
    found.into_iter().map(|((namespace, name), keys)| (namespace, name, keys)).collect()
}

/// Calls `collect` with name and key of each `contentFrom.secret` and `passwdFrom.secret` in a value, whose depth the server limits.
fn collect_secrets(value: &Value, collect: &mut dyn FnMut(&str, &str)) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                let secret = &value["secret"];
                if let ("contentFrom" | "passwdFrom", Some(name), Some(key)) =
                    (field.as_str(), secret["name"].as_str(), secret["key"].as_str())
                {
                    collect(name, key);
                }
                collect_secrets(value, collect);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_secrets(item, collect)),
        _ => {}
    }
}
