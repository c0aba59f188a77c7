//! `firstlight up`: start, apply, show the clusters until they are Available.

pub mod handover;
mod nodes;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, anyhow, bail};
use clap::Args;
use machinery::clock::Clock;
use server::data_directory::DataDirectory;
use server::options::ServerOptions;
use server::options::parse_duration;
use server::process::Process;
use store::EngineError;

use self::handover::{AfterUp, Stage, check_manifests, is_itself, known_target, write_target};
use self::nodes::control_nodes;
use super::goal::{Goal, Timeline, missing, notes, seconds};
use crate::handed_over;
use crate::install::InstallOptions;
use crate::logging::{self, Verbosity};
use crate::manifests::apply::{apply_all, check_all};
use crate::manifests::fetch::{Kustomize, fetch};
use crate::manifests::read::{BUNDLE, Document, Elsewhere, read_to_apply};
use crate::manifests::undo::Undone;
use crate::output::{is_answer_yes, say};
use crate::signals::{Interrupted, Signals};
use crate::tree::model::Objects;
use crate::tree::screen::Screen;
use crate::tree::view::{View, show};

/// The user of a pivot at the source.
const PIVOT_USER: &str = "firstlight-pivot";

/// The line below the tree.
const FOOTER: &str = "Ctrl-C stops the server; the same command continues.";

/// Options of `up`.
#[derive(Debug, Clone, Args)]
pub struct UpOptions {
    /// Manifest to apply: a file, a folder of .yaml, .yml and .json files, an address, - for standard input, or bundle: for those of
    /// --bundle; may be repeated
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub filename: Vec<PathBuf>,
    /// The option `-k`.
    #[command(flatten)]
    pub kustomize: Kustomize,
    /// Apply the manifests also where this changes back what others have changed since; otherwise `up` asks
    #[arg(long)]
    pub force: bool,
    /// Give up if the goal is not reached after this time, for example 90s, 10m or 1h
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub wait: Option<std::time::Duration>,
    /// The goal of --wait and --exit [default: available; with --exit: complete]
    #[arg(long, value_name = "GOAL", value_enum, conflicts_with_all = ["exit_when_available", "pivot_to"])]
    pub wait_for: Option<Goal>,
    /// Stop, with exit code 0, as soon as the goal is reached
    #[arg(long, conflicts_with = "pivot_to")]
    pub exit: bool,
    /// Same as --exit --wait-for available
    #[arg(long)]
    pub exit_when_available: bool,
    /// Hand everything over to the cluster of this kubeconfig as soon as the clusters are complete, as `firstlight pivot` does; then stop.
    /// `self` is the cluster that comes up, in which firstlight is installed then
    #[arg(
        long,
        value_name = "KUBECONFIG|self",
        conflicts_with = "exit_when_available",
        help_heading = "Hand-over"
    )]
    pub pivot_to: Option<PathBuf>,
    /// The installation at the target of the pivot.
    #[command(flatten)]
    pub install: InstallOptions,
    /// Whether every change is printed without a terminal; `-v` sets it.
    #[arg(skip)]
    pub verbose: bool,
    /// Options shared with `serve`.
    #[command(flatten)]
    pub server: ServerOptions,
}

impl UpOptions {
    /// Returns the goal. A pivot begins only when all machines exist, because a Machine without a Node cannot be moved.
    fn goal(&self) -> Goal {
        match self.wait_for {
            Some(goal) => goal,
            None if self.exit || self.pivot_to.is_some() => Goal::Complete,
            None => Goal::Available,
        }
    }

    fn exits(&self) -> bool {
        self.exit || self.exit_when_available
    }

    /// Returns whether `up` only runs a server, so that there is nothing to wait for until a Cluster is applied.
    pub fn wants_nothing(&self) -> bool {
        self.filename.is_empty() && self.wait.is_none() && !self.exits() && self.pivot_to.is_none()
    }
}

/// Runs until the process is interrupted or, with `--exit`, until the goal is reached.
///
/// # Errors
/// A manifest is invalid (found before the server starts, if possible), the server cannot start, or the time of `--wait` has passed.
pub async fn run(options: &UpOptions) -> Result<()> {
    let clock = Clock::system();
    let mut screen = Screen::new(&clock, FOOTER, options.verbose);
    options.kustomize.check("up")?;
    let elsewhere = Elsewhere { bundled: bundled(options)?, ..fetch(&options.filename).await? };
    let documents = read_to_apply(&options.filename, &elsewhere)?;
    if options.install.install {
        if options.pivot_to.is_none() {
            bail!("--install is for the target of a pivot; name it with --pivot-to");
        }
        options.install.reference()?;
    }
    if options.pivot_to.as_deref().is_some_and(is_itself) {
        check_manifests(documents.iter().map(|document| &document.object))?;
    }
    // With --pivot-to, `bring_up` checks whether the target already has the clusters.
    if options.pivot_to.is_none() || options.server.start_afresh {
        handed_over::before_start(&options.server)?;
        let directory = DataDirectory::locate(options.server.directory.data_dir.as_deref())?;
        if !documents.is_empty() {
            handed_over::before_apply(directory.path(), documents.iter().map(Document::namespace))?;
        }
    }
    let log = start_log(options, &screen)?;
    let started = Signals::catch_after(Process::start(&options.server)).await;
    let (process, mut signals) = started.map_err(|error| advise_if_in_use(error, options))?;
    process.remember();
    screen.print(&format!(
        "firstlight is up at https://{}\nexport KUBECONFIG={}\n{log}\n",
        server::certificates::reachable(process.address),
        process.kubeconfig.display()
    ))?;
    let outcome = follow(&process, &documents, options, &mut signals, &mut screen).await;
    let folder = process.data().to_owned();
    process.stop().await;
    outcome?;
    match options.pivot_to.as_deref().is_some_and(is_itself) && server::nodes::are_in(&folder) {
        true => control_nodes(options, &folder, &mut signals).await,
        false => Ok(()),
    }
}

/// Returns the manifests of bundles, if they are asked for.
fn bundled(options: &UpOptions) -> Result<Vec<(String, String)>> {
    if !options.filename.iter().any(|source| source.as_os_str() == BUNDLE) {
        return Ok(Vec::new());
    }
    server::netboot::bundles::open(&options.server.netboot.bundles)?.kubernetes_manifests()
}

/// Adds the way to apply manifests to a server that already runs on the directory.
fn advise_if_in_use(error: anyhow::Error, options: &UpOptions) -> anyhow::Error {
    let in_use = matches!(error.downcast_ref::<EngineError>(), Some(EngineError::InUse { .. }));
    let running = || DataDirectory::locate(options.server.directory.data_dir.as_deref())?.running_server();
    match (in_use && !options.filename.is_empty(), running()) {
        (true, Ok(running)) => {
            let files: String =
                options.filename.iter().map(|file| format!(" -f {}", file.display())).collect();
            let kubeconfig = running.kubeconfig.display();
            anyhow!("{error:#}; to apply to its server: kubectl --kubeconfig {kubeconfig} apply{files}")
        }
        _ => error,
    }
}

/// Starts the log. Beside a tree that is redrawn in place, the log is a file of the data directory; returns the line that names it.
fn start_log(options: &UpOptions, screen: &Screen) -> Result<String> {
    let chosen = options.server.log.log_level.map(Verbosity::Chosen);
    if !screen.is_terminal() || !std::io::stderr().is_terminal() {
        logging::start(chosen.unwrap_or(Verbosity::Warnings));
        return Ok(String::new());
    }
    let directory = DataDirectory::locate(options.server.directory.data_dir.as_deref())?;
    directory.create()?;
    let path = directory.log();
    logging::start_in_file(&path, chosen.unwrap_or(Verbosity::Information))?;
    Ok(format!("Log: {}\n", path.display()))
}

async fn follow(
    process: &Process,
    documents: &[Document],
    options: &UpOptions,
    signals: &mut Signals,
    screen: &mut Screen,
) -> Result<()> {
    let view = View::new(&process.manager);
    view.ready().await?;
    let reached = AtomicBool::new(false);
    tokio::select! {
        biased;
        signal = signals.next() => {
            say("\nStopping. `firstlight up` on the same directory continues from here.\n")?;
            let nothing_wanted = options.wants_nothing() && view.objects().clusters.is_empty();
            if reached.load(Ordering::Relaxed) || nothing_wanted { Ok(()) } else { Err(Interrupted(signal).into()) }
        }
        error = process.store_failed() => Err(error),
        outcome = bring_up(process, &view, documents, options, &reached, screen) => outcome,
    }
}

/// Applies the manifests and waits for the clusters. Sets `reached` when the goal is reached, so that an interrupt afterwards is not an
/// error.
async fn bring_up(
    process: &Process,
    view: &View,
    documents: &[Document],
    options: &UpOptions,
    reached: &AtomicBool,
    screen: &mut Screen,
) -> Result<()> {
    let mut pivot = None;
    let known = |target| known_target(target, process.data());
    let target = options.pivot_to.as_deref().map(known).transpose()?.flatten();
    if let Some(target) = &target {
        let to_come = AfterUp::new(process.plane.client(PIVOT_USER), process.data(), target).await?;
        match to_come.stage().await? {
            Stage::Interrupted => {
                screen.print("Resuming the interrupted pivot.\n\n")?;
                return to_come.run(Stage::Interrupted, options).await;
            }
            Stage::Done => return Ok(screen.print(&handed_over_already(target))?),
            Stage::New => pivot = Some(to_come),
        }
    }
    let client = process.plane.client("firstlight-up");
    let undone = check_all(&process.plane.registry, &client, documents).await?;
    if !options.force {
        confirm(&undone, screen).await?;
    }
    for applied in apply_all(&process.plane.registry, &client, documents).await? {
        screen.print(&format!("{} {}\n", applied.what, applied.outcome))?;
    }
    screen.print("\n")?;
    watch(process, view, options, pivot.as_ref(), reached, screen).await
}

/// Shows the changes of others that an apply would undo, and asks whether to apply; nothing to undo needs no answer.
///
/// # Errors
/// The answer is no, or there is no terminal to ask on.
async fn confirm(undone: &[Undone], screen: &mut Screen) -> Result<()> {
    if undone.is_empty() {
        return Ok(());
    }
    let lines = undone.iter().map(ToString::to_string);
    let list: String = lines.map(|line| format!("  {}\n", terminal::line(&line))).collect();
    let what =
        format!("These values have been changed since, and the manifests would change them back:\n{list}");
    if !screen.is_terminal() || !std::io::stdin().is_terminal() {
        bail!("{what}Nothing was applied. Put the new values into the manifests, or apply with --force");
    }
    screen.print(&format!("{what}Apply? [y/N] "))?;
    match is_answer_yes().await? {
        true => Ok(()),
        false => bail!("nothing was applied; put the new values into the manifests"),
    }
}

/// Returns the message for clusters that have already been handed over. Applying the manifests again would create the clusters a second
/// time.
fn handed_over_already(target: &Path) -> String {
    format!(
        "The clusters have been handed over to the cluster of {0} already; nothing was applied here. Apply changes there:\n  \
         kubectl --kubeconfig {0} apply -f …\n",
        target.display()
    )
}

async fn watch(
    process: &Process,
    view: &View,
    options: &UpOptions,
    pivot: Option<&AfterUp>,
    reached: &AtomicBool,
    screen: &mut Screen,
) -> Result<()> {
    let mut timeline = Timeline::new(&Clock::system());
    let until_goal = async {
        show(view, screen, |objects| timeline.reaches(Goal::Available, objects)).await?;
        screen.print_paragraph(&timeline.available())?;
        match options.goal() {
            Goal::Available => Ok(()),
            Goal::Complete => until_complete(view, screen, &mut timeline).await,
        }
    };
    match options.wait {
        None => until_goal.await?,
        Some(limit) => match tokio::time::timeout(limit, until_goal).await {
            Ok(outcome) => outcome?,
            Err(_) => bail!(
                "not {} after {}s:\n{}",
                options.goal().name(),
                limit.as_secs(),
                missing(&view.objects())
            ),
        },
    }
    let mut itself = None;
    if options.pivot_to.as_deref().is_some_and(is_itself) {
        let client = process.plane.client(PIVOT_USER);
        let target = write_target(&view.objects().clusters, client.clone(), process.data()).await?;
        itself = Some(AfterUp::new(client, process.data(), &target).await?);
    }
    if let Some(pivot) = itself.as_ref().or(pivot) {
        screen.print_paragraph("Handing over.\n")?;
        return pivot.run(Stage::New, options).await;
    }
    reached.store(true, Ordering::Relaxed);
    if options.exits() {
        return Ok(());
    }
    screen.print_paragraph(&next_steps(process, &view.objects()))?;
    if options.goal() == Goal::Available {
        until_complete(view, screen, &mut timeline).await?;
    }
    show(view, screen, |_| false).await?;
    Ok(())
}

async fn until_complete(view: &View, screen: &mut Screen, timeline: &mut Timeline) -> std::io::Result<()> {
    show(view, screen, |objects| timeline.reaches(Goal::Complete, objects)).await?;
    let notes = notes(&view.objects());
    screen.print_paragraph(&format!("All machines are there after {}.\n{notes}", seconds(timeline.elapsed())))
}

/// With more clusters, the commands for the first ones are an example.
const NEXT_STEPS_CLUSTERS: usize = 2;

fn next_steps(process: &Process, objects: &Objects) -> String {
    let mut text = format!(
        "Next:\n  export KUBECONFIG={}\n  kubectl get clusters,machines -A\n",
        process.kubeconfig.display()
    );
    for cluster in objects.clusters.iter().take(NEXT_STEPS_CLUSTERS) {
        let (namespace, name) = (&cluster["metadata"]["namespace"], &cluster["metadata"]["name"]);
        if let (Some(namespace), Some(name)) = (namespace.as_str(), name.as_str()) {
            text.push_str(&format!(
                "  firstlight get kubeconfig {name} -n {namespace} > {name}.kubeconfig\n  \
                 kubectl --kubeconfig {name}.kubeconfig get nodes\n"
            ));
        }
    }
    text
}
