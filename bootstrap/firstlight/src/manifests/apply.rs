//! Applies manifests: first a server-side dry run of everything, then everything, so that a mistake in the last document
//! changes nothing. The objects are as after `kubectl apply --server-side`, so that kubectl continues without conflicts.

use kube::{Api, Client};
use registry::{Definitions, Registry};
use schemas::cluster::{Cluster, ClusterClass};
use serde_json::Value;
use server::names::APPLY_MANAGER;

use super::explain::explain;
use super::last_applied;
use super::read::Document;
use super::suggest::nearest;
use super::undo::{self, Undone};

/// An error in a document, with its place.
#[derive(Debug, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct ApplyError {
    /// The file as the user named it.
    pub file: String,
    /// The line, starting with 1.
    pub line: usize,
    /// The problem, and how to fix it.
    pub message: String,
}

impl ApplyError {
    /// Returns the error of a document as a whole.
    pub(super) fn of(document: &Document, message: impl ToString) -> Self {
        Self { file: document.file.clone(), line: document.line, message: message.to_string() }
    }
}

/// The result of an apply for an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The object, for example `cluster.cluster.x-k8s.io/first`.
    pub what: String,
    /// `created`, `configured` or `unchanged`.
    pub outcome: &'static str,
}

/// Kinds on which others depend, which are applied first, whatever the order of the documents.
const FIRST: &[&str] = &["Namespace", "CustomResourceDefinition"];

/// Checks all documents with a dry run; nothing is changed. Returns the values of others that an apply would change back.
///
/// # Errors
/// The first document that the server refuses.
pub async fn check_all(
    registry: &Registry,
    client: &Client,
    documents: &[Document],
) -> Result<Vec<Undone>, ApplyError> {
    let (first, rest) = in_order(documents);
    let defines_kinds = first.iter().any(|document| kind(document) == "CustomResourceDefinition");
    let (mut undone, mut new_namespaces, mut new_classes) = (Vec::new(), Vec::new(), Vec::new());
    let classes: Vec<(&str, &str)> = rest.iter().filter_map(|document| defined_class(document)).collect();
    for document in first.iter().chain(&rest) {
        // New namespaces and kinds of the documents themselves do not exist yet during a dry run.
        let known = resolve(&registry.definitions(), document).is_ok() || !defines_kinds;
        if !FIRST.contains(&kind(document)) && (!known || new_namespaces.contains(&document.namespace())) {
            continue;
        }
        let (target, live) = live(registry, client, document).await?;
        if let Some(class) = class_of(document).filter(|class| !classes.contains(class)) {
            check_class(client, document, &target, class).await?;
        }
        // Nor do new classes, without which a Cluster cannot be changed.
        if live.is_some() && class_of(document).is_some_and(|class| new_classes.contains(&class)) {
            continue;
        }
        let expected = send(client, document, &target, "&dryRun=All").await?;
        match live {
            Some(live) if !last_applied::is_same(&live, &expected) => {
                undone.extend(undo::undone(client, document, &target, [&live, &expected]).await?);
            }
            None if kind(document) == "Namespace" => {
                new_namespaces.extend(document.object["metadata"]["name"].as_str());
            }
            None => new_classes.extend(defined_class(document)),
            _ => {}
        }
    }
    Ok(undone)
}

/// Applies all documents, also where this changes values of others.
///
/// # Errors
/// The first document that the server refuses; the documents before it have been applied.
pub async fn apply_all(
    registry: &Registry,
    client: &Client,
    documents: &[Document],
) -> Result<Vec<Applied>, ApplyError> {
    let (first, rest) = in_order(documents);
    let mut applied = Vec::new();
    for document in first.iter().chain(&rest) {
        applied.push(apply(registry, client, document).await?);
    }
    Ok(applied)
}

/// Returns the documents that others depend on, and the rest, in which Clusters with a class come last.
fn in_order(documents: &[Document]) -> (Vec<&Document>, Vec<&Document>) {
    let (first, mut rest): (Vec<&Document>, Vec<&Document>) =
        documents.iter().partition(|document| FIRST.contains(&kind(document)));
    rest.sort_by_key(|document| class_of(document).is_some());
    (first, rest)
}

/// Returns namespace and name of the class of a Cluster.
fn class_of(document: &Document) -> Option<(&str, &str)> {
    let reference = &document.object["spec"]["topology"]["classRef"];
    let name = reference["name"].as_str().filter(|_| kind(document) == Cluster::KIND)?;
    let namespace = reference["namespace"].as_str().filter(|namespace| !namespace.is_empty());
    Some((namespace.unwrap_or_else(|| document.namespace()), name))
}

/// Returns namespace and name of a document's ClusterClass.
fn defined_class(document: &Document) -> Option<(&str, &str)> {
    let name =
        document.object["metadata"]["name"].as_str().filter(|_| kind(document) == ClusterClass::KIND)?;
    Some((document.namespace(), name))
}

/// Checks that the class of a Cluster exists. The server creates a Cluster without its class, but refuses all further writes.
async fn check_class(
    client: &Client,
    document: &Document,
    target: &Target,
    (namespace, name): (&str, &str),
) -> Result<(), ApplyError> {
    const FIELD: &str = "spec.topology.classRef";
    let classes: Api<ClusterClass> = Api::namespaced(client.clone(), namespace);
    // If it cannot be read, the server decides about the Cluster.
    if !matches!(classes.get_opt(name).await, Ok(None)) {
        return Ok(());
    }
    let message = format!(
        "{}: {FIELD}: the ClusterClass {namespace}/{name} does not exist; add it to the manifests, or apply it first",
        target.what
    );
    let line = document.line_of(FIELD).unwrap_or(document.line);
    Err(ApplyError { line, ..ApplyError::of(document, message) })
}

fn kind(document: &Document) -> &str {
    document.object["kind"].as_str().unwrap_or_default()
}

/// The address of an object at the server.
pub(super) struct Target {
    /// The path of the object.
    pub path: String,
    /// The name of the object for messages, for example `cluster.cluster.x-k8s.io/first`.
    pub what: String,
    /// The namespace; `None` for objects that are not in a namespace.
    pub namespace: Option<String>,
}

/// Returns the address of a document's object, or the field that is wrong and the message.
fn resolve(definitions: &Definitions, document: &Document) -> Result<Target, (&'static str, String)> {
    let object = &document.object;
    let (api_version, kind) = (object["apiVersion"].as_str().unwrap_or_default(), kind(document));
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let name = object["metadata"]["name"].as_str().filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| ("metadata", format!("{kind} has no metadata.name")))?;
    let definition = definitions
        .by_kind(group, kind)
        .ok_or_else(|| ("kind", unknown_kind(definitions, group, kind, api_version)))?;
    let served: Vec<&str> =
        definition.versions.iter().filter(|v| v.served).map(|v| v.name.as_str()).collect();
    if !served.contains(&version) {
        let right = definition.api_version(served.first().unwrap_or(&""));
        let convert = match group.ends_with("cluster.x-k8s.io") {
            true => ", which `firstlight convert` writes",
            false => "",
        };
        let message = format!("{kind} is not served in {api_version}; it is in {right}{convert}");
        return Err(("apiVersion", message));
    }
    let base = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{api_version}") };
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
    let middle = if definition.namespaced { format!("/namespaces/{namespace}") } else { String::new() };
    let plural = &definition.plural;
    let qualified =
        if group.is_empty() { kind.to_lowercase() } else { format!("{}.{group}", kind.to_lowercase()) };
    Ok(Target {
        path: format!("{base}{middle}/{plural}/{name}"),
        what: format!("{qualified}/{name}"),
        namespace: definition.namespaced.then(|| namespace.to_owned()),
    })
}

fn unknown_kind(definitions: &Definitions, group: &str, kind: &str, api_version: &str) -> String {
    let served = || {
        definitions
            .iter()
            .filter_map(|definition| definition.versions.iter().find(|v| v.served).map(|v| (definition, v)))
    };
    if let Some((definition, version)) = served().find(|(definition, _)| definition.kind == kind) {
        let right = definition.api_version(&version.name);
        return format!("no kind {kind:?} in {api_version:?}; did you mean apiVersion: {right}?");
    }
    let same_group = served()
        .filter(|(definition, _)| definition.group == group)
        .map(|(definition, _)| definition.kind.as_str());
    let all = served().map(|(definition, _)| definition.kind.as_str());
    match nearest(kind, same_group).or_else(|| nearest(kind, all)) {
        Some(meant) => format!("no kind {kind:?} in {api_version:?}; did you mean {meant}?"),
        None => format!(
            "no kind {kind:?} in {api_version:?}; apply its CustomResourceDefinition first, or install its provider"
        ),
    }
}

/// Returns the request that applies an object.
pub(super) fn request(
    document: &Document,
    object: &Value,
    target: &Target,
    query: &str,
) -> Result<http::Request<Vec<u8>>, ApplyError> {
    http::Request::patch(format!("{}?{query}", target.path))
        .header(http::header::CONTENT_TYPE, "application/apply-patch+yaml")
        .body(object.to_string().into_bytes())
        .map_err(|error| ApplyError::of(document, error))
}

/// Applies a document, unless this changes nothing.
async fn apply(registry: &Registry, client: &Client, document: &Document) -> Result<Applied, ApplyError> {
    let (target, before) = live(registry, client, document).await?;
    if let Some(before) = &before {
        let expected = send(client, document, &target, "&dryRun=All").await?;
        if last_applied::is_same(before, &expected) {
            return Ok(Applied { what: target.what, outcome: "unchanged" });
        }
    }
    let object = send(client, document, &target, "").await?;
    last_applied::remember(client, document, &target, &object).await?;
    let outcome = if before.is_some() { "configured" } else { "created" };
    Ok(Applied { what: target.what, outcome })
}

/// Returns the address of a document's object, and the object if it exists.
async fn live(
    registry: &Registry,
    client: &Client,
    document: &Document,
) -> Result<(Target, Option<Value>), ApplyError> {
    let target = resolve(&registry.definitions(), document).map_err(|(field, message)| ApplyError {
        line: document.line_of(field).unwrap_or(document.line),
        ..ApplyError::of(document, message)
    })?;
    let request = http::Request::get(&target.path).body(Vec::new());
    let request = request.map_err(|error| ApplyError::of(document, error))?;
    // If the object cannot be read, the server refuses the apply with a better reason.
    let object = client.request(request).await.ok();
    Ok((target, object))
}

/// Sends the request that applies a document; returns the object.
async fn send(
    client: &Client,
    document: &Document,
    target: &Target,
    dry_run: &str,
) -> Result<Value, ApplyError> {
    let query = format!("fieldManager={APPLY_MANAGER}&force=true&fieldValidation=Strict{dry_run}");
    client.request::<Value>(request(document, &document.object, target, &query)?).await.map_err(|error| {
        let (line, message) = explain(document, target, &error);
        ApplyError { line, ..ApplyError::of(document, message) }
    })
}
