//! Reads the objects of a cluster with one list per kind.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams};
use kube::{Api, Client};
use serde_json::Value;

use super::options::Options;
use super::snapshot::{Reference, Snapshot};
use crate::{Context, Error, Result, inventory};

const CLUSTER: &str = "cluster.x-k8s.io";
/// Kinds whose objects have the cluster's name as a label.
const LABELLED: [&str; 4] = ["Machine", "MachineDeployment", "MachineSet", "MachinePool"];

/// Places of the references in a machine or a machine template.
const REFERENCES: [&str; 4] = [
    "/spec/infrastructureRef",
    "/spec/bootstrap/configRef",
    "/spec/template/spec/infrastructureRef",
    "/spec/template/spec/bootstrap/configRef",
];

/// Reads all objects that a description may show.
pub(super) async fn gather(
    client: &Client,
    namespace: &str,
    name: &str,
    options: &Options,
) -> Result<Snapshot> {
    let mut reader = Reader { client, namespace, kinds: BTreeMap::new() };
    let cluster = reader.one(&resource(CLUSTER, inventory::CONTRACT, "Cluster"), name).await?;
    let mut objects = Vec::new();
    let mut contract = inventory::CONTRACT.to_owned();
    for pointer in ["/spec/infrastructureRef", "/spec/controlPlaneRef"] {
        let Some(reference) = Reference::read(cluster.pointer(pointer)) else { continue };
        // Objects that cannot be read are not shown.
        let Ok(kind) = reader.kind(&reference.group, &reference.kind).await else { continue };
        if pointer == "/spec/controlPlaneRef" {
            contract = kind.contract.clone();
        }
        objects.extend(reader.one(&kind.resource, &reference.name).await.ok());
    }
    let label = ListParams::default().labels(&format!("{CLUSTER}/cluster-name={name}"));
    for kind in LABELLED {
        objects.extend(reader.list(&resource(CLUSTER, inventory::CONTRACT, kind), &label).await?);
    }
    let kinds: BTreeSet<(String, String)> = objects
        .iter()
        .filter(|object| matches!(object["kind"].as_str(), Some("Machine" | "MachinePool")))
        .flat_map(|object| REFERENCES.iter().filter_map(|pointer| Reference::read(object.pointer(pointer))))
        .map(|reference| (reference.group, reference.kind))
        .collect();
    for (group, kind) in kinds {
        if let Ok(kind) = reader.kind(&group, &kind).await {
            objects.extend(reader.list(&kind.resource, &ListParams::default()).await.unwrap_or_default());
        }
    }
    if options.resource_sets {
        let binding = resource("addons.cluster.x-k8s.io", inventory::CONTRACT, "ClusterResourceSetBinding");
        objects.extend(reader.one(&binding, name).await.ok());
    }
    objects.push(cluster);
    let mut snapshot = Snapshot::new(objects);
    snapshot.control_plane_contract = contract;
    Ok(snapshot)
}

fn resource(group: &str, version: &str, kind: &str) -> ApiResource {
    let mut resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    resource.plural = engine::contract::plural(kind);
    resource
}

/// A kind of a provider, in its newest version for the newest contract.
#[derive(Clone)]
struct Kind {
    resource: ApiResource,
    contract: String,
}

struct Reader<'a> {
    client: &'a Client,
    namespace: &'a str,
    kinds: BTreeMap<(String, String), Kind>,
}

impl Reader<'_> {
    async fn kind(&mut self, group: &str, kind: &str) -> Result<Kind> {
        let key = (group.to_owned(), kind.to_owned());
        if let Some(known) = self.kinds.get(&key) {
            return Ok(known.clone());
        }
        let definitions: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        let name = format!("{}.{group}", engine::contract::plural(kind));
        let failed = || {
            format!(
                "failed to get contract version for kind {kind}: failed to get CustomResourceDefinition metadata"
            )
        };
        let labels =
            definitions.get_metadata(&name).await.context(failed)?.metadata.labels.unwrap_or_default();
        let implemented = schemas::contract::implemented(|name| labels.get(name).map(String::as_str));
        let (contract, version) = implemented.ok_or_else(|| {
            Error::invalid(format!(
                "cannot find any versions matching contract versions [\"v1beta2\" \"v1beta1\"] for CRD {name}"
            ))
        })?;
        let found = Kind { resource: resource(group, version, kind), contract: contract.to_owned() };
        self.kinds.insert(key, found.clone());
        Ok(found)
    }

    async fn one(&self, resource: &ApiResource, name: &str) -> Result<Value> {
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), self.namespace, resource);
        Ok(plain(api.get(name).await?, resource))
    }

    async fn list(&self, resource: &ApiResource, parameters: &ListParams) -> Result<Vec<Value>> {
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), self.namespace, resource);
        let list = api.list(parameters).await?;
        Ok(list.items.into_iter().map(|object| plain(object, resource)).collect())
    }
}

/// Items of a list lack `apiVersion` and `kind`, so they are added.
fn plain(object: DynamicObject, resource: &ApiResource) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    value["apiVersion"] = resource.api_version.as_str().into();
    value["kind"] = resource.kind.as_str().into();
    value
}
