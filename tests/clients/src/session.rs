//! Runs a transcript in its own directory, with `kubectl` and `firstlight` in the path and `KUBECONFIG` set.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use machinery::clock::Clock;
use test_server::Server;
use tokio::process::Command;

use crate::pattern;
use crate::transcript::{Part, Step, Transcript};

/// Default limit for a command, and for repeating one until it matches.
const DEADLINE: Duration = Duration::from_secs(90);
/// Pause between two attempts of a repeated command.
const PAUSE: Duration = Duration::from_millis(100);

/// The programs and files that transcripts need.
#[derive(Debug, Clone)]
pub struct Tools {
    /// Path of `firstlight`.
    pub firstlight: PathBuf,
    /// The folder of the real clients: `kubectl`, other versions such as `kubectl-1.24`, `clusterctl` and so
    /// on.
    pub clients: PathBuf,
    /// Files in the working directory: name and source of each.
    pub files: Vec<(&'static str, PathBuf)>,
    /// Environment variables of the commands, besides those that all have.
    pub variables: Vec<(&'static str, String)>,
    /// Limit for a command.
    pub deadline: Duration,
    /// Is told each command that has printed what it should, and the time that it took.
    pub report: fn(&str, Duration),
}

impl Tools {
    /// Finds `firstlight` by `FIRSTLIGHT_BINARY`, and the clients in the folder of
    /// `tests/clients/install-tools`. `Err` is the reason to skip the tests.
    ///
    /// # Panics
    /// In CI, if the server exists and the clients do not.
    pub fn find() -> Result<Self, String> {
        let firstlight = std::env::var_os("FIRSTLIGHT_BINARY").map(PathBuf::from);
        let firstlight = firstlight.ok_or("`cargo xtask clients` builds the server and runs this")?;
        let clients = root().join("target/tools");
        // The script creates this file last.
        if !clients.join("complete").exists() {
            let reason =
                format!("no clients in {}; tests/clients/install-tools gets them", clients.display());
            assert!(std::env::var_os("CI").is_none(), "{reason}");
            return Err(reason);
        }
        let files = vec![("examples", root().join("examples"))];
        Ok(Self { firstlight, clients, files, variables: Vec::new(), deadline: DEADLINE, report: |_, _| () })
    }
}

/// Returns the folder of the workspace's `Cargo.toml`.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// Runs a transcript; with `update`, writes the actual output into it.
///
/// # Errors
/// The first command with another result than the transcript says, or that the server does not start.
pub async fn play(path: &Path, tools: &Tools, update: bool) -> Result<()> {
    let directory = tempfile::tempdir()?;
    play_in(directory.path(), path, tools, update).await
}

/// Like [`play`], in an empty directory of the caller. It becomes the home of the commands, which run in its folder `work`.
///
/// # Errors
/// The errors of [`play`].
pub async fn play_in(directory: &Path, path: &Path, tools: &Tools, update: bool) -> Result<()> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let markdown = path.extension().is_some_and(|end| end == "md");
    let parsed = if markdown { Transcript::parse_markdown(&text) } else { Transcript::parse(&text) };
    let mut transcript = parsed.with_context(|| path.display().to_string())?;
    // A documentation page uses the default data directory.
    let data = if markdown { ".local/share/firstlight" } else { "data" };
    let session = Session::new(directory, directory.join(data).join("kubeconfig"), tools)?;
    let server = match &transcript.server {
        Some(options) => {
            let options: Vec<&str> = options.iter().map(String::as_str).collect();
            Some(Server::start(&tools.firstlight, directory, &options).await?)
        }
        None => None,
    };
    session.steps(path, &text, &mut transcript, update).await?;
    drop(server);
    Ok(())
}

/// Like [`play`], against a server that runs already: in an empty directory of the caller, with a kubeconfig of that server.
///
/// # Errors
/// The errors of [`play`], and that the transcript wants a server of its own.
pub async fn play_against(
    kubeconfig: &Path,
    directory: &Path,
    path: &Path,
    tools: &Tools,
    update: bool,
) -> Result<()> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut transcript = Transcript::parse(&text).with_context(|| path.display().to_string())?;
    ensure!(transcript.server == Some(Vec::new()), "{}: the server runs already", path.display());
    let session = Session::new(directory, kubeconfig.to_owned(), tools)?;
    session.steps(path, &text, &mut transcript, update).await
}

struct Printed {
    text: String,
    code: i32,
}

struct Session {
    directory: PathBuf,
    path: std::ffi::OsString,
    kubeconfig: PathBuf,
    variables: Vec<(&'static str, String)>,
    deadline: Duration,
    report: fn(&str, Duration),
    /// Process groups of the commands; processes left running are killed when the session ends.
    groups: Vec<u32>,
}

impl Session {
    fn new(directory: &Path, kubeconfig: PathBuf, tools: &Tools) -> Result<Self> {
        let commands = directory.join("bin");
        std::fs::create_dir(&commands)?;
        std::os::unix::fs::symlink(&tools.firstlight, commands.join("firstlight"))?;
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let first = [commands, tools.clients.clone()];
        let path = std::env::join_paths(first.into_iter().chain(std::env::split_paths(&inherited)))?;
        std::fs::create_dir(directory.join("work"))?;
        for (name, path) in &tools.files {
            std::os::unix::fs::symlink(path, directory.join("work").join(name))?;
        }
        Ok(Self {
            directory: directory.to_owned(),
            path,
            kubeconfig,
            variables: tools.variables.clone(),
            deadline: tools.deadline,
            report: tools.report,
            groups: Vec::new(),
        })
    }

    /// Runs all commands; with `update`, writes what they printed into the transcript, whose text is `text`.
    async fn steps(
        mut self,
        path: &Path,
        text: &str,
        transcript: &mut Transcript,
        update: bool,
    ) -> Result<()> {
        let clock = Clock::system();
        for part in &mut transcript.parts {
            let Part::Step(step) = part else { continue };
            let start = clock.monotonic();
            let outcome = self.step(step, update).await;
            outcome.with_context(|| format!("{}:{}", path.display(), step.line))?;
            (self.report)(&step.command, start.elapsed());
        }
        if update && transcript.write() != text {
            std::fs::write(path, transcript.write())?;
        }
        Ok(())
    }

    async fn step(&mut self, step: &mut Step, update: bool) -> Result<()> {
        let mut printed = self.run(step).await?;
        if step.wait {
            let deadline = self.deadline;
            let until = async {
                while !self.holds(step, &printed)? {
                    tokio::time::sleep(PAUSE).await;
                    printed = self.run(step).await?;
                }
                anyhow::Ok(())
            };
            if let Ok(outcome) = tokio::time::timeout(deadline, until).await {
                return outcome;
            }
        }
        if self.holds(step, &printed)? {
            return Ok(());
        }
        if !update {
            bail!(
                "$ {}\n--- expected (exit code {})\n{}\n--- printed (exit code {})\n{}",
                step.command,
                step.code,
                step.output,
                printed.code,
                printed.text
            );
        }
        step.code = printed.code;
        step.output = pattern::expectation(&step.output, &printed.text, &self.directory.to_string_lossy())?;
        Ok(())
    }

    fn holds(&self, step: &Step, printed: &Printed) -> Result<bool> {
        let same = pattern::matches(&step.output, &printed.text, &self.directory.to_string_lossy())?;
        Ok(same && step.code == printed.code)
    }

    async fn run(&mut self, step: &Step) -> Result<Printed> {
        let child = Command::new("bash")
            .args(["-c", &format!("exec 2>&1\nset -o pipefail\n{}", step.command)])
            .current_dir(self.directory.join("work"))
            .env("PATH", &self.path)
            .env("HOME", &self.directory)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("EXAMPLES", root().join("examples"))
            .env("FILES", Path::new(env!("CARGO_MANIFEST_DIR")).join("files"))
            .env("TZ", "UTC")
            .envs(self.variables.iter().cloned())
            .env_remove("CI")
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        self.groups.extend(child.id());
        let ended = tokio::time::timeout(self.deadline, child.wait_with_output()).await;
        let late = || anyhow::anyhow!("not done after {:?}: {}", self.deadline, step.command);
        let output = ended.map_err(|_| late())??;
        let text = String::from_utf8_lossy(&output.stdout);
        let text = text.split_inclusive('\n').filter(|line| !ended_its_own_watch(line)).collect();
        Ok(Printed { text, code: output.status.code().unwrap_or(-1) })
    }
}

/// Returns whether client-go's reflector reports that its caller ended the watch in the middle of an event.
/// `kubectl wait` does that when its condition is met, and whether the line is printed is a race within
/// kubectl. klog quotes the error, so its quotation marks have backslashes.
pub fn ended_its_own_watch(line: &str) -> bool {
    line.contains("reflector.go:")
        && line.trim_end().ends_with(r#"context canceled\") has prevented the request from succeeding""#)
}

impl Drop for Session {
    fn drop(&mut self) {
        for group in &self.groups {
            // It is fine if the group has already ended.
            let _gone = std::process::Command::new("kill")
                .args(["-9", "--", &format!("-{group}")])
                .stderr(Stdio::null())
                .status();
        }
    }
}
