//! Programs that are run to their end, and conditions that are waited for.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use machinery::clock::Clock;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// Time between two looks at what sends no event.
const INTERVAL: Duration = Duration::from_millis(200);

/// Runs a command to its end, with this input, and returns its output.
///
/// # Errors
/// It cannot be started, takes longer than `limit`, or fails; what it has printed is in the error.
pub async fn run(command: &mut Command, input: &[u8], limit: Duration) -> Result<String> {
    let line = format!("{:?}", command.as_std());
    let child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = child.spawn().with_context(|| format!("{line} cannot be started"))?;
    let mut stdin = child.stdin.take().context("a standard input")?;
    let finished = tokio::time::timeout(limit, async {
        // It may end before it has read everything.
        stdin.write_all(input).await.ok();
        drop(stdin);
        child.wait_with_output().await
    });
    let output = finished.await.with_context(|| format!("{line}: not within {limit:?}"))??;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        bail!("{line}: {}\n{text}{}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(text)
}

/// Returns the last lines of a text, for an error.
pub fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// Waits until `condition` returns a value.
///
/// # Errors
/// It does not within `limit`; `what` describes the condition, and the error has what the last look has found.
pub async fn until<T>(
    what: &str,
    limit: Duration,
    mut condition: impl AsyncFnMut() -> Result<T>,
) -> Result<T> {
    let clock = Clock::system();
    let end = clock.monotonic() + limit;
    loop {
        match condition().await {
            Ok(found) => return Ok(found),
            Err(error) if clock.monotonic() > end => {
                return Err(error.context(format!("not within {limit:?}: {what}")));
            }
            Err(_) => clock.sleep(INTERVAL).await,
        }
    }
}
