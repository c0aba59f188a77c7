//! The state that a plan begins with: the Cluster API objects of a server. Nothing is written to it, and no Secret is read.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use futures::stream::{self, StreamExt, TryStreamExt};
use kube::Client;
use machinery::clock::Clock;
use pivot::Server;
use pivot::error::Error;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::limits::{PLAN_LISTS, PLAN_OBJECTS};

/// The groups whose objects a plan does not need: inventories, and what acts on other servers than the simulated ones.
const LEFT_OUT: [&str; 4] = [
    "clusterctl.cluster.x-k8s.io",
    "operator.cluster.x-k8s.io",
    "addons.cluster.x-k8s.io",
    "runtime.cluster.x-k8s.io",
];
/// The group of the kinds without which nothing can be planned, and these kinds' plurals.
const REQUIRED: [(&str, &str); 5] = [
    ("cluster.x-k8s.io", "clusters"),
    ("cluster.x-k8s.io", "machines"),
    ("cluster.x-k8s.io", "machinesets"),
    ("cluster.x-k8s.io", "machinedeployments"),
    ("controlplane.cluster.x-k8s.io", "kubeadmcontrolplanes"),
];

/// The objects from which a plan begins.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// The server that was read, for example `https://127.0.0.1:6443`; `None` if a plan begins with nothing.
    pub server: Option<String>,
    /// The CustomResourceDefinitions of the server.
    pub definitions: Vec<Value>,
    /// The kinds that were read.
    pub kinds: Vec<Kind>,
    /// All objects, each with `apiVersion` and `kind`.
    pub objects: Vec<Value>,
    /// The names of namespaces; `None` if the user may not list them.
    pub namespaces: Option<Vec<String>>,
    /// The resources that the user may not list, such as `devmachines.infrastructure.cluster.x-k8s.io`.
    pub unread: Vec<String>,
}

/// A kind of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// The API group.
    pub group: String,
    /// The version in which its objects are read.
    pub version: String,
    /// The name of the kind.
    pub kind: String,
    /// The plural in paths.
    pub plural: String,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
}

impl State {
    /// Reads the state of the server of `client`. What the user may not list in all namespaces is listed in `namespace`.
    ///
    /// # Errors
    /// The server cannot be reached, the user may not list what each plan needs, or there are too many objects.
    pub async fn read(client: Client, url: String, namespace: &str) -> Result<Self> {
        let server = Server::new("the server", client, Clock::system());
        let definitions = definitions(&server).await?;
        let kinds = kinds(&server, definitions.as_deref().unwrap_or_default()).await?;
        let namespaces = namespaces(&server).await?;
        let mut state = Self {
            server: Some(url),
            definitions: definitions.unwrap_or_default(),
            namespaces,
            ..Self::default()
        };
        let lists = kinds.iter().map(|kind| list(&server, kind, namespace));
        let lists: Vec<Option<Vec<Value>>> = stream::iter(lists).buffered(PLAN_LISTS).try_collect().await?;
        for (kind, listed) in kinds.iter().zip(lists) {
            match listed {
                Some(objects) => state.objects.extend(objects),
                None => state.unread.push(format!("{}.{}", kind.plural, kind.group)),
            }
            if state.objects.len() > PLAN_OBJECTS {
                bail!(
                    "the server has more than {PLAN_OBJECTS} Cluster API objects, which is the limit of a plan"
                );
            }
        }
        state.kinds = kinds;
        state.require()?;
        Ok(state)
    }

    /// Returns what could not be read, each as a sentence for the user.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.unread.is_empty() {
            notes.push(format!("not read, because you may not list them: {}", self.unread.join(", ")));
        }
        notes
    }

    /// Fails if an object without which nothing can be planned could not be read.
    fn require(&self) -> Result<()> {
        let names = REQUIRED.map(|(group, plural)| format!("{plural}.{group}"));
        let missing: Vec<&String> = names.iter().filter(|name| self.unread.contains(name)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let missing: Vec<&str> = missing.into_iter().map(String::as_str).collect();
        bail!(
            "nothing can be planned, because you may not list {}: ask for the verb list on them, in your namespace or in all",
            missing.join(", ")
        )
    }
}

/// Returns the CustomResourceDefinitions; `None` if the user may not list them.
async fn definitions(server: &Server) -> Result<Option<Vec<Value>>> {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let items = permitted(server.list("list CustomResourceDefinitions", path).await)?;
    let Some(items) = items else { return Ok(None) };
    let mut definitions = parse(&items)?;
    for definition in &mut definitions {
        definition["apiVersion"] = "apiextensions.k8s.io/v1".into();
        definition["kind"] = "CustomResourceDefinition".into();
    }
    Ok(Some(definitions))
}

/// Returns the names of the namespaces; `None` if the user may not list them.
async fn namespaces(server: &Server) -> Result<Option<Vec<String>>> {
    let listed = permitted(server.list("list Namespaces", "/api/v1/namespaces").await)?;
    let Some(items) = listed else { return Ok(None) };
    let name = |namespace: Value| namespace["metadata"]["name"].as_str().map(str::to_owned);
    Ok(Some(parse(&items)?.into_iter().filter_map(name).collect()))
}

/// Returns the kinds of Cluster API and of its providers, each in the version in which it is stored, as far as that is known.
async fn kinds(server: &Server, definitions: &[Value]) -> Result<Vec<Kind>> {
    let groups: Value = server.get("read the API groups", "/apis").await?;
    let mut kinds: BTreeMap<(String, String), Kind> = BTreeMap::new();
    let stored = stored_versions(definitions)?;
    for group in groups["groups"].as_array().into_iter().flatten() {
        let name = group["name"].as_str().unwrap_or_default();
        if !is_of_cluster_api(name, definitions) {
            continue;
        }
        let preferred = group["preferredVersion"]["version"].as_str().unwrap_or_default();
        for version in group["versions"].as_array().into_iter().flatten() {
            let version = version["version"].as_str().unwrap_or_default();
            let resources: Value =
                server.get("read the API resources", &format!("/apis/{name}/{version}")).await?;
            for resource in resources["resources"].as_array().into_iter().flatten() {
                let Some(kind) = kind(name, version, resource) else { continue };
                let key = (kind.group.clone(), kind.plural.clone());
                let wanted = stored.get(&key).map_or(preferred, String::as_str);
                if version == wanted || !kinds.contains_key(&key) {
                    kinds.insert(key, kind);
                }
            }
        }
    }
    Ok(kinds.into_values().collect())
}

/// Returns the stored version of each kind, by group and plural: for kinds of this program its own, so that nothing is converted twice.
fn stored_versions(definitions: &[Value]) -> Result<BTreeMap<(String, String), String>> {
    let own = schemas::crds()?;
    let mut stored = BTreeMap::new();
    for definition in definitions.iter().chain(&own) {
        let spec = &definition["spec"];
        let versions = spec["versions"].as_array().into_iter().flatten();
        let version = versions.filter(|version| version["storage"] == true).find_map(|v| v["name"].as_str());
        if let (Some(group), Some(plural), Some(version)) =
            (spec["group"].as_str(), spec["names"]["plural"].as_str(), version)
        {
            stored.insert((group.to_owned(), plural.to_owned()), version.to_owned());
        }
    }
    Ok(stored)
}

/// Returns whether a group has kinds of Cluster API or of one of its providers.
fn is_of_cluster_api(group: &str, definitions: &[Value]) -> bool {
    let implements = |definition: &Value| {
        let labels = definition["metadata"]["labels"].as_object();
        definition["spec"]["group"] == group
            && schemas::contract::implemented(|name| labels?.get(name)?.as_str()).is_some()
    };
    let known = group == "cluster.x-k8s.io" || group.ends_with(".cluster.x-k8s.io");
    !LEFT_OUT.contains(&group) && (known || definitions.iter().any(implements))
}

/// Returns the kind of an entry of discovery; `None` for subresources, and for what cannot be listed.
fn kind(group: &str, version: &str, resource: &Value) -> Option<Kind> {
    let plural = resource["name"].as_str().filter(|name| !name.contains('/'))?;
    let verbs = resource["verbs"].as_array()?;
    verbs.iter().any(|verb| verb == "list").then_some(())?;
    Some(Kind {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: resource["kind"].as_str()?.to_owned(),
        plural: plural.to_owned(),
        namespaced: resource["namespaced"] == true,
    })
}

/// Returns all objects of a kind, or those in `namespace`; `None` if the user may list neither.
async fn list(server: &Server, kind: &Kind, namespace: &str) -> Result<Option<Vec<Value>>> {
    let Kind { group, version, plural, .. } = kind;
    let what = format!("list {plural}.{group}");
    let path = format!("/apis/{group}/{version}/{plural}");
    if let Some(items) = permitted(server.list(&what, &path).await)? {
        return Ok(Some(parse(&items)?));
    }
    if !kind.namespaced {
        return Ok(None);
    }
    let path = format!("/apis/{group}/{version}/namespaces/{namespace}/{plural}");
    permitted(server.list(&what, &path).await)?.map(|items| parse(&items)).transpose()
}

/// Returns `None` if the user lacks the permission.
fn permitted<T>(outcome: Result<T, Error>) -> Result<Option<T>> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(Error::Server { cause, .. }) if is_forbidden(&cause) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn is_forbidden(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 403)
}

fn parse(items: &[Box<RawValue>]) -> Result<Vec<Value>> {
    items
        .iter()
        .map(|item| serde_json::from_str(item.get()))
        .collect::<Result<_, _>>()
        .context("the answer of the server cannot be read")
}
