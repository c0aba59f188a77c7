//! How far a pull is: the lines of JSON that the daemon writes meanwhile.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::time::timeout;

use crate::api::Line;
use crate::limits;

/// Reads the lines of the daemon until their end, and hands each on.
///
/// # Errors
/// One of them is an error, none comes for as long as `silence`, or the stream breaks.
pub(crate) async fn finish(
    stream: impl AsyncRead + Unpin,
    silence: Duration,
    each: &mut (dyn FnMut(&Line) + Send),
) -> Result<()> {
    let mut lines = BufReader::new(stream);
    loop {
        let mut text = Vec::new();
        let most = u64::try_from(limits::LINE)?;
        let mut line = (&mut lines).take(most);
        let read = timeout(silence, line.read_until(b'\n', &mut text)).await;
        let silent = || format!("nothing was said for {} s: does it hang?", silence.as_secs());
        if read.with_context(silent)?? == 0 {
            return Ok(());
        }
        // What is no JSON is for people.
        let Ok(line) = serde_json::from_slice::<Line>(&text) else { continue };
        if let Some(error) = line.error {
            bail!("{}", error.trim());
        }
        each(&line);
    }
}

/// Makes words of a pull, seldom enough for a condition of an object.
pub struct Pull<'a> {
    name: &'a str,
    /// Received and all bytes of each layer.
    layers: BTreeMap<String, (u64, u64)>,
    told: String,
}

impl<'a> Pull<'a> {
    /// Returns the words for the pull of an image.
    pub fn new(name: &'a str) -> Self {
        Self { name, layers: BTreeMap::new(), told: String::new() }
    }

    /// Returns what is to be told after a line of JSON; `None` if the last words still say enough, or if it is none.
    pub fn of(&mut self, line: &str) -> Option<String> {
        self.of_line(&serde_json::from_str(line).ok()?)
    }

    pub(crate) fn of_line(&mut self, line: &Line) -> Option<String> {
        let detail = &line.progress_detail;
        match line.status.as_str() {
            "Downloading" if detail.total > 0 => {
                self.layers.insert(line.id.clone(), (detail.current, detail.total));
            }
            "Download complete" | "Pull complete" => {
                let layer = self.layers.get_mut(&line.id)?;
                layer.0 = layer.1;
            }
            "Extracting" => {}
            _ => return None,
        }
        let received: u64 = self.layers.values().map(|(received, _)| received).sum();
        let all: u64 = self.layers.values().map(|(_, all)| all).sum();
        if all == 0 {
            return None;
        }
        let step = received.saturating_mul(limits::STEPS) / all;
        let megabytes = |bytes: u64| bytes.div_ceil(1_000_000);
        // The words are those of the step, so that they are not others with each line.
        let words = match step >= limits::STEPS {
            true => format!("unpacking {}", self.name),
            false => format!(
                "pulling {}: {} of {} MB",
                self.name,
                megabytes(all * step / limits::STEPS),
                megabytes(all)
            ),
        };
        (words != self.told).then(|| {
            self.told.clone_from(&words);
            words
        })
    }
}
