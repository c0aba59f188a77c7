//! `firstlight status`: the server of a data directory, its clusters, and the state of a pivot.

use anyhow::{Context, Result, bail};
use clap::Args;
use machinery::clock::Clock;
use serde_json::{Value, json};
use server::connection;
use server::data_directory::{DataDirectory, Running};
use server::options::DirectoryOptions;

use crate::handed_over::{self, PivotState};
use crate::output::{Output, OutputOptions};
use crate::output::{print, say};
use crate::tree::conditions;
use crate::tree::model::{Entry, Objects, State, entries};
use crate::tree::render;
use crate::tree::screen::{self, Screen};
use crate::tree::view::{View, show};

/// The line below the tree of `status --watch`.
const FOOTER: &str = "Ctrl-C ends this view; the server goes on.";

/// Options of `status`.
#[derive(Debug, Clone, Args)]
pub struct StatusOptions {
    /// The data directory.
    #[command(flatten)]
    pub directory: DirectoryOptions,
    /// The option `-o`.
    #[command(flatten)]
    pub output: OutputOptions,
    /// Continue until Ctrl-C: redraw the clusters on a terminal, otherwise print what changes
    ///
    /// With -o json, each change prints the whole status on one line.
    #[arg(short, long)]
    pub watch: bool,
}

/// Shows the server of a data directory, its clusters, and a pivot that is not complete or has handed them over.
///
/// # Errors
/// No server runs on the directory, it does not answer, or it ends.
pub async fn run(options: &StatusOptions) -> Result<()> {
    let directory = DataDirectory::locate(options.directory.data_dir.as_deref())?;
    directory.check_access()?;
    let pivot = handed_over::state(directory.path())?;
    let running = match (directory.running_server(), &pivot) {
        (Ok(running), _) => running,
        (Err(error), None) => return Err(error),
        (Err(error), Some(pivot)) => bail!("{error:#}\n{pivot}"),
    };
    tokio::select! {
        biased;
        outcome = look(&running, pivot, options) => outcome,
        error = directory.server_ended(&running) => Err(error),
    }
}

/// Shows what the running server has.
async fn look(running: &Running, pivot: Option<PivotState>, options: &StatusOptions) -> Result<()> {
    let client = connection::client(&running.kubeconfig).await?;
    let version = client.apiserver_version().await;
    let version =
        version.with_context(|| format!("{} (process {}) does not answer", running.server, running.pid))?;
    let manager = connection::manager(client.clone());
    let view = View::of_server(&manager, &client);
    view.ready().await?;
    let status = Status { running: running.clone(), version: version.git_version, pivot };
    let outcome = status.show(&view, options).await;
    manager.stop().await;
    outcome
}

/// The part of the status that does not change while the server runs.
struct Status {
    running: Running,
    version: String,
    pivot: Option<PivotState>,
}

impl Status {
    async fn show(&self, view: &View, options: &StatusOptions) -> Result<()> {
        match (options.output.output, options.watch) {
            (Some(output), false) => print(&self.report(&view.objects()), output),
            (Some(output), true) => loop {
                let report = self.report(&view.objects());
                match output {
                    Output::Json => say(&format!("{report}\n"))?,
                    Output::Yaml => {
                        say("---\n")?;
                        print(&report, output)?;
                    }
                }
                view.changed().await;
            },
            (None, true) => {
                let mut screen = Screen::new(&Clock::system(), FOOTER, false);
                screen.print(&self.heading())?;
                Ok(show(view, &mut screen, |_| false).await?)
            }
            (None, false) => say(&self.text(&view.objects())),
        }
    }

    /// Returns the lines above the clusters.
    fn heading(&self) -> String {
        let Running { pid, server, kubeconfig, .. } = &self.running;
        let mut text = format!(
            "Server:     {server} ({}, process {pid})\nKubeconfig: {}\n",
            self.version,
            kubeconfig.display()
        );
        if let Some(pivot) = &self.pivot {
            text.push_str(&format!("Pivot:      {pivot}\n"));
        }
        text.push('\n');
        text
    }

    fn text(&self, objects: &Objects) -> String {
        let mut text = self.heading();
        if !objects.unconfirmed.is_confirmed() {
            let count = objects.unconfirmed.unconfirmed.len() + objects.unconfirmed.more;
            text.push_str(&format!(
                "The controllers have not confirmed the status of {count} objects since the server started.\n\n"
            ));
        }
        let entries = &entries(objects);
        if entries.is_empty() {
            text.push_str("No clusters.\n");
        }
        let width = screen::width().unwrap_or(usize::MAX);
        for line in render::tree(entries, Clock::system().now(), width, false) {
            text.push_str(&line);
            text.push('\n');
        }
        text
    }

    fn report(&self, objects: &Objects) -> Value {
        let conditions = conditions::by_key(objects);
        let report = |entry: &Entry| object_report(entry, conditions.get(&entry.key));
        json!({
            "server": self.running.server,
            "pid": self.running.pid,
            "kubeconfig": self.running.kubeconfig,
            "version": self.version,
            "pivot": self.pivot.as_ref().map(PivotState::report),
            "unconfirmed": objects.unconfirmed,
            "objects": entries(objects).iter().map(report).collect::<Vec<Value>>(),
        })
    }
}

fn object_report(entry: &Entry, conditions: Option<&Value>) -> Value {
    let state = match entry.state {
        State::Good | State::Folded(_) => "Ready",
        State::Waiting => "Waiting",
        State::Deleting => "Deleting",
    };
    // A key is a kind, and a name that has a namespace before it unless the kind is cluster-scoped.
    let (kind, name) = entry.key.split_once(' ').unwrap_or_default();
    let (namespace, name) =
        name.split_once('/').map_or((None, name), |(namespace, name)| (Some(namespace), name));
    json!({
        "kind": kind,
        "namespace": namespace,
        "name": name,
        "depth": entry.depth,
        "state": state,
        "summary": entry.summary,
        "waitingFor": entry.causes,
        "conditions": conditions.filter(|conditions| conditions.is_array()).unwrap_or(&json!([])),
    })
}
