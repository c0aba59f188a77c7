//! `firstlight plan`: what would happen if manifests were applied.

pub mod text;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use chrono::SubsecRound;
use clap::Args;
use machinery::clock::Clock;
use server::merge_kubeconfig::users_own;
use server::options::parse_duration;

use crate::manifests::fetch::{Kustomize, fetch};
use crate::manifests::read::{Document, read_to_apply};
use crate::output::OutputOptions;
use crate::output::{print, say};
use crate::plan::stand_ins::plan::Durations;
use crate::plan::{Ending, Plan, Settings, State, play};
use crate::target::TargetOptions;

/// Options of `plan`.
#[derive(Debug, Clone, Args)]
pub struct PlanOptions {
    /// Manifest to plan: a file, a folder of .yaml, .yml and .json files, an address, or - for standard input; may be repeated
    #[arg(short = 'f', long = "filename", value_name = "FILE", required_unless_present = "kustomize")]
    pub filename: Vec<PathBuf>,
    /// The option `-k`.
    #[command(flatten)]
    pub kustomize: Kustomize,
    /// The server whose state is the beginning.
    #[command(flatten)]
    pub target: TargetOptions,
    /// Begin with nothing, whatever server there is
    #[arg(long)]
    pub from_nothing: bool,
    /// Namespace to read where you may not read all [default: that of the kubeconfig's context]
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Time that a worker takes to start, from its bootstrap data to its Node; simulated machines have theirs in their spec
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "3m")]
    pub machine_start: Duration,
    /// Time that a machine of a control plane takes to start, or a control plane without Machines to follow its spec
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "4m")]
    pub control_plane_start: Duration,
    /// Time that the shared infrastructure of a cluster takes to be provisioned
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "1m")]
    pub infrastructure_start: Duration,
    /// Give up after this time, which is simulated: a plan takes seconds
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_duration, default_value = "24h")]
    pub limit: Duration,
    /// The option `-o`.
    #[command(flatten)]
    pub output: OutputOptions,
}

/// Prints what would happen if the manifests were applied.
///
/// # Errors
/// The manifests cannot be read or are refused, the server cannot be read, or the change would not end.
pub async fn run(options: &PlanOptions) -> Result<()> {
    options.kustomize.check("plan")?;
    let documents = read_to_apply(&options.filename, &fetch(&options.filename).await?)?;
    let state = state(options).await?;
    let plan = played(state, documents, options).await?;
    match options.output.output {
        Some(output) => print(&plan, output)?,
        None => say(&text::text(&plan))?,
    }
    match plan.ending {
        Ending::Unfinished => {
            bail!("the change would not come to its end; it would wait for what stands above")
        }
        Ending::Finished | Ending::NothingToDo => Ok(()),
    }
}

/// Reads the server that is named, or that runs on the data directory, or that kubectl would use. Without one, the state is empty.
async fn state(options: &PlanOptions) -> Result<State> {
    if options.from_nothing {
        return Ok(State::default());
    }
    let choice = options.target.choice().await?;
    let is_named = choice.kubeconfig.is_some() || choice.context.is_some();
    if !is_named && !users_own().is_ok_and(|path| path.exists()) {
        return Ok(State::default());
    }
    let url = choice.config().await?.cluster_url.to_string();
    let connection = choice.connect().await?;
    let namespace = options.namespace.as_deref().unwrap_or(&connection.namespace);
    let state = State::read(connection.client, url.trim_end_matches('/').to_owned(), namespace).await;
    if is_named {
        state
    } else {
        state.map_err(|error| anyhow!("{error:#}; --from-nothing plans without a server"))
    }
}

/// Plays the plan in a thread of its own, which a signal does not wait for.
async fn played(state: State, documents: Vec<Document>, options: &PlanOptions) -> Result<Plan> {
    let settings = Settings {
        durations: Durations {
            machine: options.machine_start,
            control_plane: options.control_plane_start,
            infrastructure: options.infrastructure_start,
        },
        limit: options.limit,
        begin: Clock::system().now().trunc_subsecs(0),
    };
    let playing = tokio::task::spawn_blocking(move || play(&state, &documents, &settings));
    playing.await.context("the simulation ended")?
}
