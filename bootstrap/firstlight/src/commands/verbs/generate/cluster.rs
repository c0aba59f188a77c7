//! `generate cluster`.

use anyhow::Result;
use clap::Args;
use clusterctl::generate::{self, Options, Sources};

use super::built_in::{self, PodsNetwork};
use super::write;
use crate::commands::verbs::tools::Tools;
use crate::output::say;
use crate::target::TargetOptions;

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
    /// Infrastructure provider whose template is used, as name[:version]; that of docker is built in [default: the only one of the
    /// inventory; a built-in template for simulated machines if there is none]
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
    /// Network of Pods of the built-in template for docker: that of the image of the nodes (bridge), none, or the file or URL of a
    /// manifest [default: bridge]
    #[arg(long, value_name = "bridge|none|FILE")]
    cni: Option<PodsNetwork>,
    /// Print the template's variables
    #[arg(long)]
    list_variables: bool,
    /// File to write to
    #[arg(long, value_name = "FILE")]
    write_to: Option<String>,
}

/// Runs `generate cluster`.
///
/// # Errors
/// The template is missing or invalid, or a variable has no value.
pub async fn run(options: ClusterOptions, tools: Tools) -> Result<()> {
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
    let (sources, connection) =
        built_in::select(sources, options.cni.as_ref(), &tools.configuration, connection).await?;
    let wanted = Options {
        name: options.name,
        namespace: options.target_namespace.filter(|namespace| !namespace.is_empty()),
        kubernetes_version: options.kubernetes_version.filter(|version| !version.is_empty()),
        control_plane_machines: options.control_plane_machine_count,
        worker_machines: options.worker_machine_count,
        variables_only: options.list_variables,
        sources,
    };
    let mut template =
        generate::cluster(&wanted, tools.configuration.clone(), connection, &tools.fetcher).await?;
    if let Some(network) = &options.cni {
        built_in::set_network(&mut template, network, &wanted, &tools).await?;
    }
    if options.list_variables {
        return say(&generate::list_variables(&template, &wanted, &environment));
    }
    write(&template.text()?, options.write_to.as_deref())
}
