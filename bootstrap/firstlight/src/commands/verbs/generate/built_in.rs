//! The templates of clusters whose infrastructure is built in: simulated machines, and real nodes in containers.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use clusterctl::built_in::{self, BuiltIn};
use clusterctl::configuration::{Configuration, ProviderType};
use clusterctl::connection::Connection;
use clusterctl::generate::{self, Options, Sources};
use clusterctl::template::Template;
use clusterctl::{cluster_message, inventory};
use serde_json::{Value, json};

use crate::commands::verbs::tools::Tools;
use crate::output::tell;

/// The template of a cluster on simulated machines.
const SIMULATED: &str = include_str!("simulated-cluster.yaml");
/// The template of a cluster of real nodes. Its network of Pods is that of [`PodsNetwork::Bridge`].
const NODES: &str = include_str!("local-cluster.yaml");
/// The name of the provider of simulated machines and of real nodes.
const DOCKER: &str = "docker";
/// Its backend of real nodes.
const NODES_BACKEND: &str = "docker";
/// The most bytes of a ConfigMap's data.
const MOST_BYTES: usize = 1024 * 1024;

/// `--cni`: the network of Pods of real nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PodsNetwork {
    /// The one that the image of the nodes brings.
    Bridge,
    /// None: the user installs one.
    None,
    /// A manifest, at an address as that of `--from`, which a ClusterResourceSet applies.
    Manifest(String),
}

impl From<&str> for PodsNetwork {
    fn from(text: &str) -> Self {
        match text {
            "bridge" => Self::Bridge,
            "none" => Self::None,
            address => Self::Manifest(address.to_owned()),
        }
    }
}

/// Selects a built-in template if the options ask for one, or if they select none and the management cluster has no other infrastructure.
/// Without a management cluster the template is for `firstlight up`; this is told on standard error.
pub async fn select(
    mut sources: Sources,
    network: Option<&PodsNetwork>,
    configuration: &Configuration,
    connection: clusterctl::Result<Connection>,
) -> Result<(Sources, clusterctl::Result<Connection>)> {
    let others = Sources { infrastructure: None, ..sources.clone() };
    let asks = sources.infrastructure.as_deref() == Some(DOCKER) && !others.is_selected();
    let selects = sources.is_selected();
    if selects && !asks {
        ensure!(
            network.is_none(),
            "--cni chooses the network of the template that is built in (--infrastructure docker); another template brings its own"
        );
        return Ok((sources, connection));
    }
    let connection = answering(connection).await;
    let wants_nodes = asks || network.is_some();
    let template = match &connection {
        Ok(connection) if wants_nodes => of_docker(connection, configuration).await,
        Ok(connection) => of_server(connection).await,
        Err(error) => {
            tell(&format!(
                "No management cluster answers ({error}), so this cluster is for `firstlight up`."
            ));
            Some(if wants_nodes { NODES } else { SIMULATED })
        }
    };
    if template.is_some() {
        sources.infrastructure = None;
    }
    ensure!(
        network.is_none() || template == Some(NODES),
        "--cni chooses the network of real nodes, whose provider (docker) is not built into this management cluster"
    );
    sources.fallback = template;
    Ok((sources, connection))
}

async fn answering(connection: clusterctl::Result<Connection>) -> clusterctl::Result<Connection> {
    let connection = connection?;
    match connection.client.apiserver_version().await {
        Ok(_) => Ok(connection),
        Err(error) => Err(clusterctl::Error::invalid(cluster_message(&error))),
    }
}

/// The built-in template of the provider of real nodes. If only its simulated machines are served, it is theirs.
async fn of_docker(connection: &Connection, configuration: &Configuration) -> Option<&'static str> {
    // One that comes from somewhere else has templates of its own.
    let is_ours =
        |one: &BuiltIn| one.is(DOCKER, ProviderType::Infrastructure) && !one.is_replaced(configuration);
    // Whoever may not read the ConfigMap gets a template of the inventory's provider.
    let docker = built_in::providers(&connection.client).await.ok()?.into_iter().find(is_ours)?;
    Some(if docker.has_backend(NODES_BACKEND) { NODES } else { SIMULATED })
}

/// The built-in template for a management cluster in which nobody has chosen an infrastructure, if it has simulated machines.
async fn of_server(connection: &Connection) -> Option<&'static str> {
    // A management cluster without an inventory is not firstlight.
    let providers = inventory::providers(&connection.client).await.ok()?;
    let chosen = built_in::without_listed(providers, &connection.client).await.ok()?;
    let has_infrastructure =
        chosen.iter().any(|provider| provider.type_name == ProviderType::Infrastructure.name());
    (!has_infrastructure && serves_dev_clusters(connection).await).then_some(SIMULATED)
}

/// Whether the management cluster has the kinds of simulated machines.
async fn serves_dev_clusters(connection: &Connection) -> bool {
    let served = connection.client.list_api_group_resources("infrastructure.cluster.x-k8s.io/v1beta2").await;
    served.is_ok_and(|list| list.resources.iter().any(|resource| resource.kind == "DevCluster"))
}

/// Gives the cluster of the built-in template another network of Pods.
///
/// # Errors
/// The manifest is not there, or too large for a ConfigMap.
pub async fn set_network(
    template: &mut Template,
    network: &PodsNetwork,
    wanted: &Options,
    tools: &Tools,
) -> Result<()> {
    if *network == PodsNetwork::Bridge || wanted.variables_only {
        return Ok(());
    }
    without_network(&mut template.objects);
    let PodsNetwork::Manifest(address) = network else { return Ok(()) };
    match files::open(Path::new(address.strip_prefix("file://").unwrap_or(address))) {
        Err(error) if error.kind() == ErrorKind::InvalidInput => {
            bail!("--cni: {address}: {error}; `--cni -` reads standard input")
        }
        // An address of another kind, or what its reader says, too.
        _ => {}
    }
    let manifest = generate::fetch(address, &tools.configuration, &tools.fetcher).await.context("--cni")?;
    let manifest =
        String::from_utf8(manifest.to_vec()).with_context(|| format!("--cni: {address} is not text"))?;
    ensure!(
        manifest.len() <= MOST_BYTES,
        "--cni: {address} has {} bytes; a ConfigMap holds at most {MOST_BYTES}, so apply it yourself (--cni none)",
        manifest.len()
    );
    let objects =
        clusterctl::yaml::objects(manifest.as_bytes()).with_context(|| format!("--cni: {address}"))?;
    ensure!(!objects.is_empty(), "--cni: {address} has no object");
    with_manifest(&mut template.objects, &manifest)
}

/// Removes what makes the network that the image brings.
fn without_network(objects: &mut [Value]) {
    for object in objects {
        let spec = match object["kind"].as_str() {
            Some("KubeadmControlPlane") => &mut object["spec"]["kubeadmConfigSpec"],
            Some("KubeadmConfigTemplate") => &mut object["spec"]["template"]["spec"],
            _ => continue,
        };
        if let Some(spec) = spec.as_object_mut() {
            spec.remove("files");
            if let Some(commands) = spec.get_mut("postKubeadmCommands").and_then(Value::as_array_mut) {
                commands.retain(|command| !command.as_str().is_some_and(|text| text.contains("default-cni")));
            }
        }
    }
}

/// Adds a ClusterResourceSet that applies a manifest to the cluster.
fn with_manifest(objects: &mut Vec<Value>, manifest: &str) -> Result<()> {
    let cluster = objects
        .iter_mut()
        .find(|object| object["kind"] == "Cluster")
        .context("the template has no Cluster")?;
    let metadata = &mut cluster["metadata"];
    let (namespace, name) =
        (metadata["namespace"].clone(), metadata["name"].as_str().unwrap_or_default().to_owned());
    let labels = json!({"cni": name});
    metadata["labels"] = labels.clone();
    let metadata = json!({"name": format!("{name}-cni"), "namespace": namespace});
    objects.push(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"cni.yaml": manifest},
    }));
    objects.push(json!({
        "apiVersion": "addons.cluster.x-k8s.io/v1beta2", "kind": "ClusterResourceSet", "metadata": metadata,
        "spec": {
            "clusterSelector": {"matchLabels": labels},
            "resources": [{"kind": "ConfigMap", "name": format!("{name}-cni")}],
        },
    }));
    Ok(())
}
