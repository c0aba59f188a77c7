//! `firstlight pivot` and `firstlight move`: the same implementation with two command lines.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;
use clusterctl::connection::Choice;
use kube::Client;
use machinery::clock::Clock;
use machinery::random::Random;
use parking_lot::Mutex;
use pivot::journal::{FileDisk, MemoryDisk};
use pivot::progress::{Phase, Progress};
use pivot::report::Report;
use pivot::{Journal, Options, Pivot, Server};
use server::backup::JOURNAL;
use server::data_directory::DataDirectory;
use server::options::DirectoryOptions;
use server::servers::state_folder;

use super::interruption;
use crate::install::{
    InstallOptions, Installation, Outcome, carried_over, controllers_of, copy_leases, install,
};
use crate::output::OutputOptions;
use crate::output::{print, say, tell};

/// Options of `pivot`.
#[derive(Debug, Clone, Args)]
pub struct PivotOptions {
    /// Kubeconfig of the target
    #[arg(long, value_name = "FILE")]
    pub to_kubeconfig: PathBuf,
    /// The options that `pivot` and `move` share.
    #[command(flatten)]
    pub way: WayOptions,
    /// Keep the objects at the source, paused and marked as moved
    #[arg(long)]
    pub keep_source: bool,
    /// The installation at the target.
    #[command(flatten)]
    pub install: InstallOptions,
}

/// Options of `move`.
#[derive(Debug, Clone, Args)]
pub struct MoveOptions {
    /// Kubeconfig of the target
    #[arg(long, value_name = "FILE", required_unless_present = "to_directory")]
    pub to_kubeconfig: Option<PathBuf>,
    /// Write the objects to this directory instead of a target; the source keeps them and continues to reconcile them
    #[arg(long, value_name = "DIR", conflicts_with_all = ["to_kubeconfig", "from_directory", "resume"])]
    pub to_directory: Option<PathBuf>,
    /// Read the objects from this directory instead of a source
    #[arg(long, value_name = "DIR", conflicts_with_all = ["dry_run", "resume", "roll_back"])]
    pub from_directory: Option<PathBuf>,
    /// Has no effect, because warnings of the servers are never shown; accepted for compatibility with clusterctl
    #[arg(long, value_name = "WHICH", value_parser = ["default", "all", "none"], default_value = "default")]
    pub hide_api_warnings: String,
    /// The options that `pivot` and `move` share.
    #[command(flatten)]
    pub way: WayOptions,
}

/// The options that `pivot` and `move` share: the two clusters, the scope and the mode.
#[derive(Debug, Clone, Args)]
pub struct WayOptions {
    /// The data directory of the source, if the source is a running firstlight.
    #[command(flatten)]
    pub directory: DirectoryOptions,
    /// Kubeconfig of the source [default: the server on --data-dir]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of that kubeconfig
    #[arg(long, value_name = "NAME", requires = "kubeconfig")]
    pub kubeconfig_context: Option<String>,
    /// Context of the target's kubeconfig
    #[arg(long, value_name = "NAME")]
    pub to_kubeconfig_context: Option<String>,
    /// Move only the objects of this namespace [default: all namespaces for pivot, the namespace of the source's kubeconfig for move]
    #[arg(short, long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// Print the objects that would move, and the obstacles; change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Finish a pivot that was interrupted
    #[arg(long, conflicts_with_all = ["dry_run", "roll_back"])]
    pub resume: bool,
    /// Undo a pivot that was interrupted before the target took over
    #[arg(long, conflicts_with = "dry_run")]
    pub roll_back: bool,
    /// With --roll-back, if the target is lost for good: undo only at the source. If the target comes back, it still has paused copies of
    /// the objects: delete them there before anybody unpauses them
    #[arg(long, requires = "roll_back")]
    pub target_is_gone: bool,
    /// File of the journal [default: pivot.journal in the data directory, else a file in $XDG_STATE_HOME/firstlight/pivots]
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,
    /// The option `-o`.
    #[command(flatten)]
    pub output: OutputOptions,
}

/// Runs `pivot`.
///
/// # Errors
/// The preflight finds an obstacle, or the pivot is interrupted.
pub async fn run(options: &PivotOptions) -> Result<()> {
    let (way, keep_source) = (&options.way, options.keep_source);
    let (path, folder) = source(way)?;
    let from = connect(&path, way.kubeconfig_context.clone()).await?;
    let to = connect(&options.to_kubeconfig, way.to_kubeconfig_context.clone()).await?;
    let namespace = way.namespace.clone().unwrap_or_default();
    let mut left = String::new();
    if !way.roll_back {
        left = install_first(&options.install, folder.as_deref(), [&from, &to], way.dry_run).await?;
    }
    let called = address(&options.to_kubeconfig, way.to_kubeconfig_context.clone()).await?;
    go(way, folder, from, to, Options { namespace, keep_source }, &called).await?;
    if !left.is_empty() && !way.dry_run {
        tell(&format!(
            "{left}The machines are booted from there when this server has ended: firstlight stop"
        ));
    }
    Ok(())
}

/// Installs the controllers of the source at the target if the options request it, and prints the steps on standard error, because standard output is
/// for the report. If the server on `folder` boots machines, these services are installed, too: then the function returns a text about what
/// moves with them, and otherwise an empty one.
pub(super) async fn install_first(
    options: &InstallOptions,
    folder: Option<&Path>,
    [from, to]: [&Client; 2],
    dry_run: bool,
) -> Result<String> {
    if !options.install {
        return Ok(String::new());
    }
    let installation = folder.map(Installation::of_server).transpose()?.flatten();
    let reference = options.reference()?;
    if installation.is_some() && !dry_run {
        tell(&format!("Waiting until {reference} runs in the cluster, and has the bundles."));
    }
    let controllers = carried_over(controllers_of(folder, from).await?, installation.is_some());
    let steps =
        install(to, &reference, &controllers, installation.as_ref(), dry_run, &Clock::system()).await?;
    for step in steps.iter().filter(|step| step.outcome != Outcome::Left) {
        tell(&step.to_string());
    }
    if dry_run {
        tell("The following report is about the target without these objects.\n");
    }
    if installation.is_some() && !dry_run {
        copy_leases(from, to).await?;
    }
    Ok(installation.as_ref().map_or(String::new(), Installation::notice))
}

/// Runs `move`, which hands over one namespace, like `clusterctl move`.
///
/// # Errors
/// The errors of [`run`].
pub async fn run_move(options: &MoveOptions) -> Result<()> {
    let way = &options.way;
    if let Some(directory) = &options.from_directory {
        let path = options.to_kubeconfig.as_deref().context("--from-directory requires --to-kubeconfig")?;
        let to = connect(path, way.to_kubeconfig_context.clone()).await?;
        let journal = match &way.journal {
            Some(path) => path.clone(),
            None => journals()?.join(format!("directory-{}.journal", short_identity(&to).await?)),
        };
        let pivot = assemble(to.clone(), to, open(&journal)?, Options::default());
        return show(way, &pivot.restore_from(directory).await?);
    }
    let (path, folder) = source(way)?;
    let from = connect(&path, way.kubeconfig_context.clone()).await?;
    let namespace = way.namespace.clone().unwrap_or_else(|| from.default_namespace().to_owned());
    let move_options = Options { namespace, keep_source: false };
    let (Some(directory), false) = (&options.to_directory, way.roll_back) else {
        let context = way.to_kubeconfig_context.clone();
        let (to, called) = match &options.to_kubeconfig {
            Some(path) => (connect(path, context.clone()).await?, address(path, context).await?),
            None => (from.clone(), String::new()),
        };
        return go(way, folder, from, to, move_options, &called).await;
    };
    if way.dry_run {
        return go(way, folder, from.clone(), from, move_options, "").await;
    }
    let journal = open_journal(way, folder, &from, &from).await?;
    let path = PathBuf::from(journal.path());
    let pivot = assemble(from.clone(), from, journal, move_options);
    show(way, &interruption::until(&path, async { Ok(pivot.save(directory).await?) }).await?)
}

pub(super) fn assemble(from: Client, to: Client, journal: Journal, options: Options) -> Pivot {
    let clock = Clock::system();
    let from = Server::new("source", from, clock.clone());
    let to = Server::new("target", to, clock);
    Pivot::new(from, to, journal, options, Random::system(), Arc::new(Screen::default()))
}

async fn go(
    way: &WayOptions,
    folder: Option<PathBuf>,
    from: Client,
    to: Client,
    options: Options,
    called: &str,
) -> Result<()> {
    if way.dry_run {
        let journal = Journal::open(Box::new(MemoryDisk::default()))?;
        let (plan, report) = assemble(from, to, journal, options).preview().await?;
        if way.output.output.is_none() {
            say(&plan.to_string())?;
        }
        return show(way, &report);
    }
    let journal = open_journal(way, folder, &from, &to).await?;
    let path = PathBuf::from(journal.path());
    let pivot = assemble(from, to, journal, options).target_called(called);
    let run = async {
        Ok(match way {
            way if way.resume => pivot.resume().await?,
            way if way.target_is_gone => pivot.roll_back_without_target().await?,
            way if way.roll_back => pivot.roll_back().await?,
            _ => pivot.run().await?,
        })
    };
    show(way, &interruption::until(&path, run).await?)
}

fn show(way: &WayOptions, report: &Report) -> Result<()> {
    match way.output.output {
        Some(output) => print(report, output),
        None => say(&report.to_string()),
    }
}

/// Returns the kubeconfig of the source, and the folder for the journal if the source is a data directory's server.
fn source(way: &WayOptions) -> Result<(PathBuf, Option<PathBuf>)> {
    if let Some(path) = &way.kubeconfig {
        return Ok((path.clone(), None));
    }
    let directory = DataDirectory::locate(way.directory.data_dir.as_deref())?;
    let Some(running) = directory.running()? else {
        bail!(
            "no server runs on {}; start it with `firstlight serve`, or name the source with --kubeconfig",
            directory.path().display()
        );
    };
    Ok((running.kubeconfig, Some(directory.path().to_owned())))
}

pub(super) async fn connect(path: &Path, context: Option<String>) -> Result<Client> {
    let choice = Choice { kubeconfig: Some(path.to_owned()), context };
    Ok(choice.connect().await?.client)
}

/// Returns the URL of a kubeconfig's cluster, for messages.
pub(super) async fn address(path: &Path, context: Option<String>) -> Result<String> {
    let choice = Choice { kubeconfig: Some(path.to_owned()), context };
    Ok(choice.config().await?.cluster_url.to_string())
}

async fn open_journal(
    way: &WayOptions,
    folder: Option<PathBuf>,
    from: &Client,
    to: &Client,
) -> Result<Journal> {
    let path = match (&way.journal, folder) {
        (Some(path), _) => path.clone(),
        (None, Some(folder)) => folder.join(JOURNAL),
        (None, None) => {
            let name = format!("{}-{}.journal", short_identity(from).await?, short_identity(to).await?);
            journals()?.join(name)
        }
    };
    open(&path)
}

fn open(path: &Path) -> Result<Journal> {
    let failed =
        || format!("cannot open the journal {}; choose another place with --journal", path.display());
    let disk = FileDisk::open(path).with_context(failed)?;
    Ok(Journal::open(Box::new(disk))?)
}

async fn short_identity(client: &Client) -> Result<String> {
    let identity = Server::new("source or target", client.clone(), Clock::system()).identity().await?;
    Ok(identity.chars().take(8).collect())
}

/// Returns the folder of journals that belong to no data directory.
fn journals() -> Result<PathBuf> {
    Ok(state_folder().context("name a file with --journal")?.join("pivots"))
}

/// Shows the progress on one line of a terminal.
#[derive(Default)]
struct Screen(Mutex<Option<Phase>>);

impl Progress for Screen {
    fn at(&self, phase: Phase, done: usize, total: usize) {
        let mut error = std::io::stderr();
        if !error.is_terminal() {
            return;
        }
        let what = match phase {
            Phase::Read => "Reading the source",
            Phase::Preflight => "Checking for obstacles",
            Phase::Pause => "Pausing the source",
            Phase::Copy => "Copying",
            Phase::Verify => "Reading back and comparing",
            Phase::HandOver => "Handing over",
            Phase::Delete => "Deleting at the source",
            Phase::RollBack => "Rolling back",
        };
        let mut last = self.0.lock();
        let new = if last.is_some_and(|last| last != phase) { "\n" } else { "" };
        *last = Some(phase);
        let count = if total > 0 { format!(" {done}/{total}") } else { String::new() };
        // An error means that standard error is closed.
        drop(write!(error, "{new}\r\x1b[K{what}{count}"));
    }

    fn waits_for(&self, objects: &[String], annotation: &str) {
        let begin = if std::io::stderr().is_terminal() { "\r\x1b[K" } else { "" };
        tell(&format!(
            "{begin}Waiting for the providers of {}, which hold it back with the annotation {annotation}",
            objects.join(", ")
        ));
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if self.0.lock().is_some() {
            drop(writeln!(std::io::stderr()));
        }
    }
}
