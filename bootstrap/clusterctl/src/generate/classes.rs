//! Adds to a template of a repository the ClusterClasses that it uses and that the cluster does not have.

use std::collections::BTreeMap;

use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind};
use serde_json::Value;

use crate::configuration::Configuration;
use crate::connection::Connection;
use crate::repository::Repository;
use crate::template::{Template, Wanted};
use crate::{Context, Error, Result, inventory};

/// The places in which ClusterClasses are searched.
pub(super) struct Place<'a> {
    pub repository: &'a Repository,
    pub version: &'a str,
    pub configuration: &'a Configuration,
    pub wanted: &'a Wanted,
}

/// Returns the templates of all missing classes as one template, or `None` if no class is missing.
pub(super) async fn missing(
    template: &Template,
    place: &Place<'_>,
    connection: Option<&Connection>,
) -> Result<Option<Template>> {
    let classes: Vec<(String, String)> = template.objects.iter().filter_map(class).collect();
    if classes.is_empty() {
        return Ok(None);
    }
    let client = initialised(connection).await?;
    let mut found: Option<Template> = None;
    for (namespace, name) in classes {
        let kind = GroupVersionKind::gvk("cluster.x-k8s.io", inventory::CONTRACT, "ClusterClass");
        if let Some(client) = client
            && exists(client, &kind, &namespace, &name).await?
        {
            continue;
        }
        let file = format!("clusterclass-{name}.yaml");
        let failed = || format!("failed to get the cluster class template for \"{namespace}/{name}\"");
        let text = place.repository.template(place.version, &file).await.context(failed)?;
        let wanted = Wanted { namespace: Some(namespace.clone()), ..place.wanted.clone() };
        let class = Template::read(&text, place.configuration, &wanted).context(failed)?;
        if let Some(client) = client {
            none_exists(client, &class.objects).await?;
        }
        found = Some(match found {
            Some(before) => class.behind(before),
            None => class,
        });
    }
    Ok(found)
}

/// Returns the namespace and the name of a Cluster's class, or `None` if the Cluster has no class.
fn class(object: &Value) -> Option<(String, String)> {
    let (group, version) = object["apiVersion"].as_str()?.split_once('/')?;
    if group != "cluster.x-k8s.io" || object["kind"] != "Cluster" {
        return None;
    }
    let topology = object.pointer("/spec/topology").filter(|topology| topology.is_object())?;
    let text =
        |pointer: &str| topology.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    let (name, namespace) = match version {
        "v1beta1" => (text("/class"), text("/classNamespace")),
        _ => (text("/classRef/name"), text("/classRef/namespace")),
    };
    let own = object.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default();
    Some((namespace.unwrap_or(own).to_owned(), name?.to_owned()))
}

/// Returns the client, or `None` if there is no connection, the cluster does not answer, or it does not have Cluster API.
async fn initialised(connection: Option<&Connection>) -> Result<Option<&Client>> {
    let Some(connection) = connection else { return Ok(None) };
    if connection.client.apiserver_version().await.is_err() {
        return Ok(None);
    }
    let installed = inventory::installed(&connection.client).await;
    let installed = installed.context(|| "failed to check if the cluster is initialized".to_owned())?;
    Ok(installed.then_some(&connection.client))
}

async fn exists(client: &Client, kind: &GroupVersionKind, namespace: &str, name: &str) -> Result<bool> {
    let mut resource = ApiResource::from_gvk(kind);
    resource.plural = engine::contract::plural(&kind.kind);
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
    Ok(api.get_opt(name).await?.is_some())
}

/// Returns an error if one of the objects already exists, because the class would otherwise consist of old and new parts.
async fn none_exists(client: &Client, objects: &[Value]) -> Result<()> {
    let text = |object: &Value, pointer: &str| {
        object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let mut known = BTreeMap::new();
    for object in objects {
        let (version, kind) = (text(object, "/apiVersion"), text(object, "/kind"));
        let (group, short) = version.split_once('/').unwrap_or(("", version.as_str()));
        let (namespace, name) = (text(object, "/metadata/namespace"), text(object, "/metadata/name"));
        let gvk = GroupVersionKind::gvk(group, short, &kind);
        if known.insert((version.clone(), kind.clone(), namespace.clone(), name.clone()), ()).is_none()
            && exists(client, &gvk, &namespace, &name).await?
        {
            return Err(Error::invalid(format!(
                "{namespace}/{name}({group}/{short}, Kind={kind}) already exists in the cluster"
            )));
        }
    }
    Ok(())
}
