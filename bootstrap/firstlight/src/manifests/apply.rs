//! Applies manifests: first a server-side dry run of everything, then everything, so that a mistake in the last document
//! changes nothing.

use kube::Client;
use registry::{Definitions, Registry};
use serde_json::Value;

use super::read::Document;
use super::suggest::nearest;
use crate::names::FIELD_MANAGER;

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

/// Applies all documents.
///
/// # Errors
/// The first document that the server refuses. Nothing has been changed then, unless the document was refused only after its dry run.
pub async fn apply_all(
    registry: &Registry,
    client: &Client,
    documents: &[Document],
) -> Result<Vec<Applied>, ApplyError> {
    let (first, rest): (Vec<&Document>, Vec<&Document>) =
        documents.iter().partition(|document| FIRST.contains(&kind(document)));
    let mut applied = Vec::new();
    for document in &first {
        send(registry, client, document, true).await?;
    }
    let own_namespaces: Vec<&str> =
        first.iter().filter_map(|document| document.object["metadata"]["name"].as_str()).collect();
    let defines_kinds = first.iter().any(|document| kind(document) == "CustomResourceDefinition");
    for document in &rest {
        // Namespaces and kinds of the documents themselves do not exist yet during a dry run.
        let namespace = document.object["metadata"]["namespace"].as_str().unwrap_or("default");
        let known = resolve(&registry.definitions(), document).is_ok();
        if (known || !defines_kinds) && !own_namespaces.contains(&namespace) {
            send(registry, client, document, true).await?;
        }
    }
    for document in first.iter().chain(&rest) {
        applied.push(send(registry, client, document, false).await?);
    }
    Ok(applied)
}

fn kind(document: &Document) -> &str {
    document.object["kind"].as_str().unwrap_or_default()
}

/// The address of an object at the server.
struct Target {
    path: String,
    what: String,
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
        return Err(("apiVersion", format!("{kind} is not served in {api_version}; it is in {right}")));
    }
    let base = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{api_version}") };
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
    let middle = if definition.namespaced { format!("/namespaces/{namespace}") } else { String::new() };
    let plural = &definition.plural;
    let qualified =
        if group.is_empty() { kind.to_lowercase() } else { format!("{}.{group}", kind.to_lowercase()) };
    Ok(Target { path: format!("{base}{middle}/{plural}/{name}"), what: format!("{qualified}/{name}") })
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

async fn send(
    registry: &Registry,
    client: &Client,
    document: &Document,
    dry_run: bool,
) -> Result<Applied, ApplyError> {
    let failed = |line: usize, message: String| ApplyError { file: document.file.clone(), line, message };
    let target = resolve(&registry.definitions(), document)
        .map_err(|(field, message)| failed(document.line_of(field).unwrap_or(document.line), message))?;
    let before = version_of(client, &target.path).await;
    let dry = if dry_run { "&dryRun=All" } else { "" };
    let uri = format!("{}?fieldManager={FIELD_MANAGER}&force=true&fieldValidation=Strict{dry}", target.path);
    let request = http::Request::patch(uri)
        .header(http::header::CONTENT_TYPE, "application/apply-patch+yaml")
        .body(document.object.to_string().into_bytes())
        .map_err(|error| failed(document.line, error.to_string()))?;
    match client.request::<Value>(request).await {
        Ok(object) => {
            let after = object["metadata"]["resourceVersion"].as_str().map(str::to_owned);
            let outcome = match before {
                None => "created",
                Some(_) if before == after => "unchanged",
                Some(_) => "configured",
            };
            Ok(Applied { what: target.what, outcome })
        }
        Err(error) => {
            let (line, message) = explain(document, &target, &error);
            Err(failed(line, message))
        }
    }
}

async fn version_of(client: &Client, path: &str) -> Option<String> {
    let request = http::Request::get(path).body(Vec::new()).ok()?;
    let object: Value = client.request(request).await.ok()?;
    object["metadata"]["resourceVersion"].as_str().map(str::to_owned)
}

/// Returns the line of the field that the server's message is about, and the message with a hint.
fn explain(document: &Document, target: &Target, error: &kube::Error) -> (usize, String) {
    let kube::Error::Api(status) = error else { return (document.line, format!("{}: {error}", target.what)) };
    let message = &status.message;
    if status.code == 404 && message.starts_with("namespaces ") {
        let namespace = document.object["metadata"]["namespace"].as_str().unwrap_or("default");
        let advice = format!(
            "{}: the namespace {namespace:?} does not exist; add a Namespace to the manifests, or create it with `kubectl create namespace {namespace}`",
            target.what
        );
        return (document.line_of("metadata.namespace").unwrap_or(document.line), advice);
    }
    if let Some((field, what)) = typed_error(message) {
        return (
            document.line_of(field).unwrap_or(document.line),
            format!("{}: {field}: {what}", target.what),
        );
    }
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let field = causes
        .map(|cause| cause.field.clone())
        .find(|field| !field.is_empty())
        .or_else(|| quoted_field(message));
    let line = field.and_then(|field| document.line_of(&field)).unwrap_or(document.line);
    (line, format!("{}: {message}", target.what))
}

/// Returns the path and the problem in a message of server-side apply about an unknown field or a wrong type.
fn typed_error(message: &str) -> Option<(&str, &str)> {
    let faults = message.strip_prefix("failed to create typed patch object (")?.split_once("): ")?.1;
    faults.strip_prefix('.')?.lines().next()?.split_once(": ")
}

/// Returns the path in messages like `unknown field "spec.replcas"`.
fn quoted_field(message: &str) -> Option<String> {
    let start = message.find("field \"")? + "field \"".len();
    let end = message[start..].find('"')? + start;
    Some(message[start..end].to_owned())
}
