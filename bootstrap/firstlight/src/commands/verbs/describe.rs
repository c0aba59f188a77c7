//! `describe cluster`.

use std::io::IsTerminal;

use anyhow::Result;
use clap::{ArgAction, Args, Subcommand};
use clusterctl::describe::{self, Options};

use super::tools::Tools;
use crate::output::{say_painted, tell};
use crate::target::TargetOptions;

/// Commands under `describe`.
#[derive(Debug, Subcommand)]
pub enum Describe {
    /// Show a cluster and the objects that belong to it
    Cluster(Box<ClusterOptions>),
}

/// Options of `describe cluster`.
#[derive(Debug, Args)]
pub struct ClusterOptions {
    /// Name of the cluster
    name: String,
    /// Namespace of the cluster [default: that of the kubeconfig's context]
    #[arg(short = 'n', long)]
    namespace: Option<String>,
    #[command(flatten)]
    target: TargetOptions,
    /// Show the conditions of these objects: all, a kind, or kind/name, separated by commas; append + to an entry for only those conditions
    /// that need attention
    #[arg(long, value_name = "LIST", default_value = "", hide_default_value = true)]
    show_conditions: String,
    /// Show MachineSets
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = ArgAction::Set, hide_default_value = true, hide_possible_values = true)]
    show_machinesets: bool,
    /// Show ClusterResourceSets
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = ArgAction::Set, hide_default_value = true, hide_possible_values = true)]
    show_resourcesets: bool,
    /// Show templates of infrastructure and bootstrap configuration
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = ArgAction::Set, hide_default_value = true, hide_possible_values = true)]
    show_templates: bool,
    /// Show infrastructure and bootstrap configuration even if they report the same state as their machine
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = ArgAction::Set, hide_default_value = true, hide_possible_values = true)]
    echo: bool,
    /// Show machines in the same state as one line
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = ArgAction::Set, value_name = "BOOL", hide_possible_values = true)]
    grouping: bool,
    /// Show conditions of v1beta2; with --v1beta2=false, those of v1beta1
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", action = ArgAction::Set, hide = true)]
    v1beta2: Option<bool>,
    /// Colours [default: on a terminal]; the variable NO_COLOR turns them off
    #[arg(short = 'c', long, num_args = 0..=1, require_equals = true, default_missing_value = "true", action = ArgAction::Set, value_name = "BOOL", hide_possible_values = true)]
    color: Option<bool>,
}

/// Runs `describe cluster`.
///
/// # Errors
/// The cluster does not exist, or an option is invalid.
pub async fn run(describe: Describe, tools: &Tools) -> Result<()> {
    let Describe::Cluster(options) = describe;
    describe::check(&options.show_conditions)?;
    if options.v1beta2.is_some() {
        // clusterctl prints the same warning on standard error.
        tell("Flag --v1beta2 has been deprecated, this field will be removed when v1beta1 will be dropped.");
    }
    let connection = options.target.connect().await?;
    let environment = tools.configuration.environment();
    let plain = environment.get("NO_COLOR").is_some_and(|value| !value.is_empty());
    let terminal = std::io::stdout().is_terminal() && environment.get("TERM").as_deref() != Some("dumb");
    let wanted = Options {
        show_conditions: options.show_conditions,
        machine_sets: options.show_machinesets,
        resource_sets: options.show_resourcesets,
        templates: options.show_templates,
        echo: options.echo,
        grouping: options.grouping,
        legacy: options.v1beta2 == Some(false),
        colour: options.color.unwrap_or(terminal) && !plain,
    };
    let namespace = options.namespace.filter(|namespace| !namespace.is_empty());
    let namespace = namespace.unwrap_or_else(|| connection.namespace.clone());
    let (client, now) = (&connection.client, tools.clock.now());
    // `describe` escapes each cell.
    say_painted(&describe::cluster(client, &namespace, &options.name, &wanted, now).await?)
}
