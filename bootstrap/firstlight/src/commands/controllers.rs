//! `firstlight controllers`: only the controllers, against any cluster.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use container_machines::Nodes;
use engine::{Manager, Settings};
use kube::{Client, Config};
use server::admission::ClusterApiAdmission;
use server::connection::{client, manager_with};
use server::controllers::{self, Context, Selection};
use server::data_directory::DataDirectory;
use server::diagnostics::{Diagnostics, DiagnosticsOptions};
use server::leader_election::{LeaderElection, LeaderElectionOptions, lead};
use server::netboot::{Booting, InClusterOptions};
use server::nodes::{self, NodeOptions};
use server::options::features::variable;
use server::options::{FeatureOptions, LogOptions};
use server::webhooks::{WebhookOptions, Webhooks};
use tokio::sync::oneshot;

use crate::handed_over;
use crate::signals::Signals;

/// The family of controllers that need the services which boot machines.
const METAL: &str = "metal";

/// Options of `controllers`.
#[derive(Debug, Clone, Args)]
pub struct ControllersOptions {
    /// Kubeconfig of the cluster to control [default: in a pod, its service account]
    #[arg(long, value_name = "FILE", env = "KUBECONFIG")]
    pub kubeconfig: Option<PathBuf>,
    /// The controllers that run.
    #[arg(long, value_name = "all|none|LIST", default_value = "all", help = controllers::short_help(), long_help = controllers::help())]
    pub controllers: Selection,
    /// The log.
    #[command(flatten)]
    pub log: LogOptions,
    /// The feature gates.
    #[command(flatten)]
    pub features: FeatureOptions,
    /// Namespace whose objects are reconciled [default: all namespaces]
    #[arg(long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Reconcile only objects with the label `cluster.x-k8s.io/watch-filter` of this value
    ///
    /// Processes with different values share a cluster. Connections to workload clusters and Secrets are read without the filter.
    #[arg(long, value_name = "VALUE")]
    pub watch_filter: Option<String>,
    /// Folder or archive with the images of nodes: archives of `docker save`, OCI layouts and archives, bundles
    #[arg(long, value_name = "PATH")]
    pub container_images: Vec<PathBuf>,
    /// Folder with mirrors and authorities of registries, in containerd's form: REGISTRY/hosts.toml
    #[arg(long, value_name = "DIR")]
    pub registry_hosts: Option<PathBuf>,
    /// Real nodes on this machine.
    #[command(flatten)]
    pub nodes: NodeOptions,
    /// The services that boot machines.
    #[command(flatten)]
    pub netboot: InClusterOptions,
    /// The endpoints for metrics and health checks.
    #[command(flatten)]
    pub diagnostics: DiagnosticsOptions,
    /// Whether several processes share the work.
    #[command(flatten)]
    pub leader_election: LeaderElectionOptions,
    /// Whether this process serves admission and conversion webhooks.
    #[command(flatten)]
    pub webhooks: WebhookOptions,
}

/// Runs the controllers until the process is interrupted, or until another process leads.
///
/// # Errors
/// The kubeconfig is invalid, the process has no kubeconfig and runs in no pod, or it has lost the leader election.
pub async fn run(options: &ControllersOptions) -> Result<()> {
    let (client, own_namespace) = match &options.kubeconfig {
        Some(path) => {
            if !options.controllers.is_none() {
                handed_over::refuse_source(path)?;
            }
            (client(path).await?, None)
        }
        None => {
            let client = in_cluster()?;
            let namespace = client.default_namespace().to_owned();
            (client, Some(namespace))
        }
    };
    options.netboot.netboot.refuse_own_ports(None)?;
    let version = client.apiserver_version().await.context("the cluster does not answer")?;
    let namespace = options.leader_election.leader_elect_namespace.clone().or(own_namespace);
    let features = options.features.features(variable).map_err(anyhow::Error::msg)?;
    let settings = Settings {
        features,
        namespace: options.namespace.clone(),
        watch_filter: options.watch_filter.clone(),
        ..Settings::default()
    };
    let manager = manager_with(client, settings);
    let election = LeaderElection::new(&options.leader_election, &manager, namespace.as_deref())?;
    let mut signals = Signals::catch()?;
    let rules = ClusterApiAdmission { features, controllers: options.controllers.clone() };
    let webhooks = Webhooks::start(&options.webhooks, &manager, namespace.as_deref(), rules).await?;
    // Last, so that a process that is ready answers its webhooks.
    let Diagnostics { metrics, health } = Diagnostics::start(&options.diagnostics, &manager).await?;
    tracing::info!(version = version.git_version, ?metrics, ?health, "connected to the cluster");
    let booting = Booting::default();
    let (failed, failure) = oneshot::channel();
    let mut why = None;
    let end = async {
        tokio::select! {
            biased;
            _ = signals.next() => {}
            Ok(error) = failure => why = Some(error),
        }
        // Before the Lease is released: the next leader takes the address.
        booting.stop().await;
    };
    let start = || {
        if let Some(webhooks) = &webhooks {
            webhooks.register(&manager);
        }
        let (options, manager, booting) = (options.clone(), manager.clone(), booting.clone());
        manager.clone().spawn(async move {
            if let Err(error) = start(&options, &manager, &booting).await {
                // Without a receiver the process ends already.
                drop(failed.send(error));
            }
        });
    };
    let led = lead(election, &manager, end, start).await;
    booting.stop().await;
    led?;
    why.map_or(Ok(()), Err)
}

/// Starts the controllers, and the services that boot machines. The controllers of hosts wait for these services.
async fn start(options: &ControllersOptions, manager: &Manager, booting: &Booting) -> Result<()> {
    let bmcs_here = options.netboot.netboot.bmcs_here.clone();
    let context = Context { bmcs_here, nodes: nodes_here(options, manager)?, ..Context::new(manager) };
    if !options.netboot.is_wanted() {
        controllers::start(&context, &options.controllers);
        tracing::info!("controllers are running");
        return Ok(());
    }
    controllers::start(&context, &options.controllers.clone().without(METAL));
    tracing::info!("controllers are running");
    let (interfaces, boot_images) = booting.start(&options.netboot, manager).await?;
    let context = Context { interfaces, boot_images: Some(boot_images), ..context };
    controllers::start(&context, &options.controllers.clone().only(METAL));
    tracing::info!("machines are booted from here");
    Ok(())
}

/// Returns the nodes of this machine, if their controllers were named: those of all families may run far from any node.
fn nodes_here(options: &ControllersOptions, manager: &Manager) -> Result<Option<Nodes>> {
    if options.controllers == Selection::all() || !options.nodes.run_here(&options.controllers) {
        return Ok(None);
    }
    let directory = DataDirectory::locate(options.netboot.directory.data_dir.as_deref())?;
    let images = &options.container_images;
    let settings = nodes::Settings::new(&directory, &options.nodes, images, options.registry_hosts.as_ref());
    Ok(Some(nodes::nodes_of_cluster(settings, manager.client(), manager.clock(), manager.random())))
}

/// Returns a client of the cluster in which this process is a pod, with the pod's service account.
fn in_cluster() -> Result<Client> {
    let config = Config::incluster().context(
        "no kubeconfig is named with --kubeconfig or KUBECONFIG, and this process is no pod with a service account",
    )?;
    Ok(Client::try_from(config)?)
}
