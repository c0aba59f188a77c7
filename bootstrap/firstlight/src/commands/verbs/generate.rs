//! `generate cluster | provider | yaml`.

use std::path::Path;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use clusterctl::cluster_message;
use clusterctl::components::{self, Components};
use clusterctl::configuration::{ByType, ProviderType};
use clusterctl::connection::Connection;
use clusterctl::generate::{self, Options, Sources};
use clusterctl::inventory;
use clusterctl::template::{Template, Wanted};

use super::tools::Tools;
use crate::data_directory::write_private;
use crate::output::{say, say_document, tell};
use crate::target::TargetOptions;

/// Commands under `generate`.
#[derive(Debug, Subcommand)]
pub enum Generate {
    /// The manifests of a cluster, from a template
    Cluster(Box<ClusterOptions>),
    /// The components of a provider
    Provider(ProviderOptions),
    /// The objects of any template
    Yaml(YamlOptions),
}

/// Options of `generate cluster`.
#[derive(Debug, Args)]
pub struct ClusterOptions {
    /// Name of the cluster
    name: String,
    #[command(flatten)]
    target: TargetOptions,
    /// Namespace of the cluster [default: that of the kubeconfig's context]
    #[arg(short = 'n', long, value_name = "NAMESPACE")]
    target_namespace: Option<String>,
    /// Kubernetes version of the cluster
    #[arg(long, value_name = "VERSION")]
    kubernetes_version: Option<String>,
    /// Machines of the control plane [default: 1]
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true)]
    control_plane_machine_count: Option<i64>,
    /// Worker machines [default: 0]
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true)]
    worker_machine_count: Option<i64>,
    /// Infrastructure provider whose template is used, as name[:version] [default: the only one of the inventory; a built-in template for
    /// simulated machines if there is none]
    #[arg(short = 'i', long, value_name = "PROVIDER")]
    infrastructure: Option<String>,
    /// Variant of the provider's template
    #[arg(short = 'f', long)]
    flavor: Option<String>,
    /// Template: a file, a URL, or - for standard input
    #[arg(long, value_name = "URL")]
    from: Option<String>,
    /// ConfigMap that holds the template
    #[arg(long, value_name = "NAME")]
    from_config_map: Option<String>,
    /// Namespace of the ConfigMap [default: that of the kubeconfig's context]
    #[arg(long, value_name = "NAMESPACE")]
    from_config_map_namespace: Option<String>,
    /// Key of the ConfigMap's data [default: template]
    #[arg(long, value_name = "KEY")]
    from_config_map_key: Option<String>,
    /// Print the template's variables
    #[arg(long)]
    list_variables: bool,
    /// File to write to
    #[arg(long, value_name = "FILE")]
    write_to: Option<String>,
}

/// Options of `generate provider`.
#[derive(Debug, Args)]
#[group(id = "provider-options")]
pub struct ProviderOptions {
    #[command(flatten)]
    providers: ProviderChoice,
    /// Namespace to install in [default: that of the components]
    #[arg(short = 'n', long, value_name = "NAMESPACE")]
    target_namespace: Option<String>,
    /// Print a description of the components instead of their manifests
    #[arg(long)]
    describe: bool,
    /// Do not substitute variables
    #[arg(long)]
    raw: bool,
    /// File to write to
    #[arg(long, value_name = "FILE")]
    write_to: Option<String>,
}

/// The options that select one provider, as `name[:version]`.
#[derive(Debug, Args)]
pub struct ProviderChoice {
    /// Core provider, for example cluster-api:v1.14.0
    #[arg(long, value_name = "PROVIDER")]
    core: Option<String>,
    /// Bootstrap provider
    #[arg(short = 'b', long, value_name = "PROVIDER")]
    bootstrap: Option<String>,
    /// Control plane provider
    #[arg(short = 'c', long, value_name = "PROVIDER")]
    control_plane: Option<String>,
    /// Infrastructure provider
    #[arg(short = 'i', long, value_name = "PROVIDER")]
    infrastructure: Option<String>,
    /// IPAM provider
    #[arg(long, value_name = "PROVIDER")]
    ipam: Option<String>,
    /// Runtime extension provider
    #[arg(long, value_name = "PROVIDER")]
    runtime_extension: Option<String>,
    /// Add-on provider
    #[arg(long, value_name = "PROVIDER")]
    addon: Option<String>,
}

/// Options of `generate yaml`.
#[derive(Debug, Args)]
pub struct YamlOptions {
    /// Template: a file, a URL, or - for standard input
    #[arg(long, value_name = "URL", default_value = "-")]
    from: String,
    /// Print the template's variables
    #[arg(long)]
    list_variables: bool,
}

/// Runs `generate`.
///
/// # Errors
/// The template is missing or invalid, or a variable has no value.
pub async fn run(generate: Generate, tools: Tools) -> Result<()> {
    match generate {
        Generate::Cluster(options) => cluster(*options, tools).await,
        Generate::Provider(options) => provider(options, &tools).await,
        Generate::Yaml(options) => yaml(&options, &tools).await,
    }
}

async fn cluster(options: ClusterOptions, tools: Tools) -> Result<()> {
    let connection = options.target.connect().await;
    let environment = tools.configuration.environment().clone();
    let sources = Sources {
        infrastructure: options.infrastructure,
        flavor: options.flavor,
        from: options.from,
        config_map: options.from_config_map,
        config_map_namespace: options.from_config_map_namespace,
        config_map_key: options.from_config_map_key,
        fallback: None,
    };
    let (sources, connection) = with_fallback(sources, connection).await?;
    let wanted = Options {
        name: options.name,
        namespace: options.target_namespace.filter(|namespace| !namespace.is_empty()),
        kubernetes_version: options.kubernetes_version.filter(|version| !version.is_empty()),
        control_plane_machines: options.control_plane_machine_count,
        worker_machines: options.worker_machine_count,
        variables_only: options.list_variables,
        sources,
    };
    let template = generate::cluster(&wanted, tools.configuration, connection, &tools.fetcher).await?;
    if options.list_variables {
        return say(&generate::list_variables(&template, &wanted, &environment));
    }
    write(&template.text()?, options.write_to.as_deref())
}

/// The template of a cluster on simulated machines.
const SIMULATED: &str = include_str!("simulated-cluster.yaml");

/// Selects the template of a simulated cluster if the options select none, and the management cluster has no other infrastructure. Without
/// a management cluster the template is for `firstlight up`; this is told on standard error.
async fn with_fallback(
    mut sources: Sources,
    connection: clusterctl::Result<Connection>,
) -> Result<(Sources, clusterctl::Result<Connection>)> {
    if sources.is_selected() {
        return Ok((sources, connection));
    }
    let connection = match connection {
        Ok(connection) => match connection.client.apiserver_version().await {
            Ok(_) => Ok(connection),
            Err(error) => Err(clusterctl::Error::invalid(cluster_message(&error))),
        },
        Err(error) => Err(error),
    };
    let is_simulated = match &connection {
        Ok(connection) => is_simulated(connection).await,
        Err(error) => {
            tell(&format!(
                "No management cluster answers ({error}), so this cluster is for `firstlight up`."
            ));
            true
        }
    };
    sources.fallback = is_simulated.then_some(SIMULATED);
    Ok((sources, connection))
}

/// Returns whether the management cluster has only the simulated infrastructure, which is not in clusterctl's inventory.
async fn is_simulated(connection: &Connection) -> bool {
    // A management cluster without an inventory is not firstlight.
    let Ok(providers) = inventory::providers(&connection.client).await else { return false };
    if providers.iter().any(|provider| provider.type_name == "InfrastructureProvider") {
        return false;
    }
    let served = connection.client.list_api_group_resources("infrastructure.cluster.x-k8s.io/v1beta2").await;
    served.is_ok_and(|list| list.resources.iter().any(|resource| resource.kind == "DevCluster"))
}

async fn provider(options: ProviderOptions, tools: &Tools) -> Result<()> {
    let (name, provider_type) = options.providers.only()?;
    let wanted = components::Wanted {
        namespace: options.target_namespace.filter(|namespace| !namespace.is_empty()),
        raw: options.raw || options.describe,
    };
    let components =
        Components::generate(&name, provider_type, &tools.configuration, &tools.fetcher, &wanted).await?;
    if options.describe {
        return say(&components.described());
    }
    write(&components.text()?, options.write_to.as_deref())
}

async fn yaml(options: &YamlOptions, tools: &Tools) -> Result<()> {
    let text = generate::fetch(&options.from, &tools.configuration, &tools.fetcher).await?;
    let wanted = Wanted { namespace: None, variables_only: options.list_variables };
    let template = Template::read(&text, &tools.configuration, &wanted)?;
    match options.list_variables {
        true => say(&template.list()),
        false => say_document(&template.text()?),
    }
}

fn write(text: &str, file: Option<&str>) -> Result<()> {
    match file.map(str::trim).filter(|file| !["", "-"].contains(file)) {
        Some(file) => {
            write_private(Path::new(file), text.as_bytes()).context("failed to write to destination file")
        }
        None => say_document(text),
    }
}

impl ProviderChoice {
    fn only(self) -> Result<(String, ProviderType)> {
        const NAMES: &str =
            "--core, --bootstrap, --control-plane, --infrastructure, --ipam, --extension, --addon";
        let by_type = ByType {
            core: self.core,
            bootstrap: self.bootstrap,
            control_plane: self.control_plane,
            infrastructure: self.infrastructure,
            ipam: self.ipam,
            runtime_extension: self.runtime_extension,
            addon: self.addon,
        };
        let mut named =
            by_type.all().filter_map(|(kind, name)| Some((name.filter(|name| !name.is_empty())?, kind)));
        let first = named.next().with_context(|| format!("at least one of {NAMES} should be set"))?;
        anyhow::ensure!(named.next().is_none(), "only one of {NAMES} should be set");
        Ok(first)
    }
}
