//! The bootstrap of a node: begun once, and followed until its end or the end of its time.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use machinery::clock::Clock;
use node_bootstrap::{Outcome, Place, Report};
use system_containers::{Exit, State};

use super::steps::{Done, last_line};
use super::tasks::Say;
use crate::limits;
use crate::nodes::Parts;

/// What a bootstrap needs.
pub(super) struct Run<'a> {
    pub parts: &'a Parts,
    pub clock: &'a Clock,
    /// The container.
    pub name: &'a str,
    pub script: &'a str,
    pub say: Say,
}

/// Runs a bootstrap, unless it was begun before, until its end. It goes on when this process ends, and is found again.
///
/// The node itself ends a command after `limit`. One that does not, for example because the state of the bootstrap is a pipe that nobody reads, has
/// failed, and is killed.
pub(super) async fn run(run: &Run<'_>, limit: Duration) -> Result<Done> {
    let longest = limit.saturating_add(limits::OVERDUE);
    // The time in which a node is silent before the bootstrap begins is not that of the bootstrap.
    let mut report = run.within(longest, |_| true).await?;
    if matches!(report.outcome, Outcome::Running(_)) {
        report = run.within(longest, |outcome| !matches!(outcome, Outcome::Running(_))).await?;
    }
    Ok(Done::Bootstrap(report))
}

impl Run<'_> {
    /// Returns the first report with an awaited outcome, or gives up after a time.
    async fn within(&self, time: Duration, is_awaited: impl Fn(&Outcome) -> bool) -> Result<Report> {
        tokio::select! {
            biased;
            report = self.follow(is_awaited) => report,
            () = self.clock.sleep(time) => self.give_up().await,
        }
    }

    /// Begins the bootstrap, unless it was begun before, and returns the first report with an awaited outcome.
    async fn follow(&self, is_awaited: impl Fn(&Outcome) -> bool) -> Result<Report> {
        loop {
            match self.status().await? {
                None => {}
                Some(Report { outcome: Outcome::NotStarted, .. }) => self.begin().await?,
                Some(report) if is_awaited(&report.outcome) => return Ok(report),
                Some(report) => (self.say)(&report.outcome.message()),
            }
            self.clock.sleep(limits::LOOK).await;
        }
    }

    /// Kills what does not end, and returns its last report. What has ended meanwhile counts.
    async fn give_up(&self) -> Result<Report> {
        let found = self.parts.runtime.inspect(self.name).await?.context("the container is gone")?;
        // In a paused one everything waits until it goes on.
        let name = self.name;
        ensure!(found.state != State::Paused, "container {name} is paused: `firstlight nodes resume {name}`");
        ensure!(
            found.state == State::Running,
            "container {name} does not run: `firstlight nodes start {name}`"
        );
        let at = match self.status().await? {
            Some(Report { outcome: Outcome::Running(at), .. }) => Some(at),
            Some(Report { outcome: Outcome::NotStarted, .. }) | None => None,
            Some(report) => return Ok(report),
        };
        self.execute(&node_bootstrap::end_command(&Place::default()), b"").await?;
        Ok(Report { outcome: Outcome::Overdue(at), warnings: Vec::new() })
    }

    /// Returns what the node says; `None` if it says nothing.
    async fn status(&self) -> Result<Option<Report>> {
        let command = node_bootstrap::status_command(&Place::default());
        let Some(output) = self.execute(&command, b"").await? else { return Ok(None) };
        Report::parse(&output).map(Some).context("the bootstrap")
    }

    async fn begin(&self) -> Result<()> {
        let place = Place::default();
        let deliver = node_bootstrap::deliver_command(&place, self.script);
        if self.execute(&deliver, self.script.as_bytes()).await?.is_none() {
            return Ok(());
        }
        // It is in a session of its own, so that it goes on when this process ends.
        let mut start = vec!["setsid".to_owned(), "--fork".to_owned()];
        start.extend(node_bootstrap::start_command(&place));
        self.execute(&start, b"").await.map(drop)
    }

    /// Runs a command that must succeed, and returns its output; `None` if it has not ended in its time, also if its runtime has not noticed that.
    async fn execute(&self, command: &[String], input: &[u8]) -> Result<Option<Vec<u8>>> {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let ran =
            system_containers::run(self.parts.runtime.as_ref(), self.name, &words, input, limits::COMMAND);
        let longest = limits::COMMAND.saturating_add(limits::OVERDUE);
        let ran = match tokio::time::timeout(longest, ran).await {
            Ok(ran) => ran?,
            Err(_) => return Ok(self.say_silent(longest)),
        };
        match ran.exit {
            Exit::Code(0) => Ok(Some(ran.stdout)),
            Exit::Code(code) => {
                bail!("a command in the node exited with status: {code}: {}", last_line(&ran.stderr))
            }
            Exit::TimedOut => Ok(self.say_silent(limits::COMMAND)),
        }
    }

    fn say_silent(&self, after: Duration) -> Option<Vec<u8>> {
        (self.say)(&format!(
            "Running bootstrap command: a command in the node has not ended after {} s",
            after.as_secs()
        ));
        None
    }
}
