//! The kinds that a pivot looks at: those of clusterctl's CustomResourceDefinitions, Secrets and ConfigMaps.

use std::collections::BTreeMap;

use machinery::url::encode;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::names;
use crate::server::Server;

/// A kind of objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// API group; empty for the core group.
    pub group: String,
    /// The version in which the server stores objects.
    pub version: String,
    /// Name of the kind, such as `Machine`.
    pub kind: String,
    /// Plural in paths, such as `machines`.
    pub plural: String,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// Whether status is a subresource, written by a separate request.
    pub status: bool,
    /// Whether all of its objects move.
    pub moves: bool,
    /// Whether all of its objects move with everything that they own.
    pub moves_hierarchy: bool,
    /// Whether its controller writes into each of its objects what the target has to know, once a Cluster beside them is about to move.
    pub hands_over: bool,
}

impl Kind {
    /// Returns a built-in kind of the core group.
    fn core(kind: &str, plural: &str) -> Self {
        Self {
            group: String::new(),
            version: "v1".into(),
            kind: kind.into(),
            plural: plural.into(),
            namespaced: true,
            status: false,
            moves: false,
            moves_hierarchy: false,
            hands_over: false,
        }
    }

    /// Returns the `apiVersion` of its objects, such as `cluster.x-k8s.io/v1beta2`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Returns plural and group, such as `machines.cluster.x-k8s.io`.
    pub fn resource(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// Returns whether this is the kind of this name in this group.
    pub fn is(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }

    /// Returns the path of all its objects, or of those in `namespace`.
    pub fn path(&self, namespace: &str) -> String {
        let root = if self.group.is_empty() { "/api" } else { "/apis" };
        let space = if self.namespaced && !namespace.is_empty() {
            format!("/namespaces/{namespace}")
        } else {
            String::new()
        };
        format!("{root}/{}{space}/{}", self.api_version(), self.plural)
    }
}

/// A CustomResourceDefinition, reduced to the fields that are needed here.
#[derive(Deserialize)]
pub struct Definition {
    metadata: Metadata,
    spec: Spec,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Spec {
    group: String,
    names: Names,
    scope: String,
    versions: Vec<Version>,
}

#[derive(Deserialize)]
struct Names {
    kind: String,
    plural: String,
}

#[derive(Deserialize)]
struct Version {
    name: String,
    served: bool,
    storage: bool,
    #[serde(default)]
    subresources: Option<Value>,
    #[serde(default)]
    schema: Option<Box<RawValue>>,
}

impl Definition {
    /// Returns the name of the definition, such as `machines.cluster.x-k8s.io`.
    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    /// Returns the provider of the definition, such as `infrastructure-vsphere`; empty if no label names one.
    pub fn provider(&self) -> &str {
        self.metadata.labels.get(names::PROVIDER).map(String::as_str).unwrap_or_default()
    }

    /// Returns whether objects can be written in this version.
    pub fn serves(&self, version: &str) -> bool {
        self.spec.versions.iter().any(|known| known.served && known.name == version)
    }

    /// Returns the version in which objects are stored.
    pub fn storage_version(&self) -> Option<&str> {
        self.stored().map(|version| version.name.as_str())
    }

    fn stored(&self) -> Option<&Version> {
        self.spec.versions.iter().find(|version| version.storage)
    }

    /// Returns whether both have the same schema of `version`: an object that one accepted, the other also accepts.
    pub fn same_schema(&self, other: &Self, version: &str) -> bool {
        let schema = |definition: &Self| {
            let known = definition.spec.versions.iter().find(|known| known.name == version)?;
            Some(known.schema.as_ref()?.get().to_owned())
        };
        match (schema(self), schema(other)) {
            (Some(one), Some(two)) if one == two => true,
            (Some(one), Some(two)) => {
                let parse = |text: &str| serde_json::from_str::<Value>(text).ok();
                parse(&one) == parse(&two)
            }
            _ => false,
        }
    }

    /// Returns the kind that it defines, or `None` if no version is stored. Clusters, ClusterClasses and ClusterResourceSets move with what
    /// they own, and so do kinds that a provider labels accordingly (contract of `clusterctl move`).
    fn kind(&self) -> Option<Kind> {
        let stored = self.stored()?;
        let (group, kind) = (self.spec.group.clone(), self.spec.names.kind.clone());
        let root = matches!(
            (group.as_str(), kind.as_str()),
            (names::CLUSTER_GROUP, "Cluster" | "ClusterClass") | (names::ADDONS_GROUP, "ClusterResourceSet")
        );
        let labels = &self.metadata.labels;
        Some(Kind {
            version: stored.name.clone(),
            plural: self.spec.names.plural.clone(),
            namespaced: self.spec.scope == "Namespaced",
            status: stored.subresources.as_ref().is_some_and(|found| found["status"].is_object()),
            moves: labels.contains_key(names::MOVE),
            moves_hierarchy: root || labels.contains_key(names::MOVE_HIERARCHY),
            hands_over: false,
            group,
            kind,
        })
    }
}

/// Returns the definitions that carry clusterctl's label.
///
/// # Errors
/// The server refuses the request or cannot be reached.
pub async fn definitions(server: &Server) -> Result<Vec<Definition>> {
    let selector = encode(names::CLUSTERCTL);
    let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions?labelSelector={selector}");
    let what = "list CustomResourceDefinitions";
    let items = server.list(what, &path).await?;
    items
        .into_iter()
        .map(|item| {
            serde_json::from_str(item.get()).map_err(|source| Error::Answer {
                server: server.role(),
                what: what.into(),
                source,
            })
        })
        .collect()
}

/// Says which kinds are handed over. A server of this program, which has kinds of its own for machines that boot, has a controller that
/// prepares BareMetalHosts for a move, unless it names its providers and Metal3's is not among them.
///
/// # Errors
/// The server refuses the request or cannot be reached.
pub async fn find_handed_over(server: &Server, kinds: &mut [Kind]) -> Result<()> {
    let Some(hosts) = kinds.iter_mut().find(|kind| kind.is(names::METAL3_GROUP, "BareMetalHost")) else {
        return Ok(());
    };
    let group = format!("/apis/{}", names::NETBOOT_GROUP);
    if server.find("look for kinds of machines that boot", &group).await?.is_none() {
        return Ok(());
    }
    hosts.hands_over = match server.find("look for built-in providers", names::BUILT_IN_PROVIDERS).await {
        Ok(built_in) => built_in.is_none_or(|built_in| built_in["data"]["infrastructure-metal3"].is_string()),
        // Somebody who may not read it can still move what is his.
        Err(error) if error.is_refusal() => true,
        Err(error) => return Err(error),
    };
    Ok(())
}

/// Returns the kinds to look at, sorted by group and kind. clusterctl's own inventory describes the providers that run at a server and
/// stays there.
pub fn kinds(definitions: &[Definition]) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = definitions
        .iter()
        .filter(|definition| definition.spec.group != names::INVENTORY_GROUP)
        .filter_map(Definition::kind)
        .collect();
    kinds.push(Kind::core("ConfigMap", "configmaps"));
    kinds.push(Kind::core("Secret", "secrets"));
    kinds.sort_by(|a, b| (&a.group, &a.kind).cmp(&(&b.group, &b.kind)));
    kinds
}
