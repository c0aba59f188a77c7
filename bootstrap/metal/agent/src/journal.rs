//! The agent's log: lines for the console and the server.

use std::collections::VecDeque;
use std::fmt::Display;
use std::io::Write;
use std::sync::Arc;

use machinery::clock::Clock;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The number of lines that are kept until the server has them; the oldest are dropped.
pub const LINES_MAX: usize = 2000;
/// The longest line in characters; the rest is cut off.
const LINE_CHARACTERS_MAX: usize = 2000;

/// The log to which all parts of the agent write.
#[derive(Clone)]
pub struct Journal(Arc<Inner>);

struct Inner {
    clock: Clock,
    start: Instant,
    lines: Mutex<Lines>,
    news: Notify,
}

#[derive(Default)]
struct Lines {
    kept: VecDeque<String>,
    /// The number of lines that have been removed from the front of `kept`.
    gone: u64,
}

impl Journal {
    /// Creates an empty log. Its times are seconds since now, because the clock of a machine without an operating system may be wrong
    /// by years.
    pub fn new(clock: Clock) -> Self {
        let start = clock.monotonic();
        Self(Arc::new(Inner { clock, start, lines: Mutex::default(), news: Notify::new() }))
    }

    /// Appends a line.
    pub fn line(&self, text: impl Display) {
        let seconds = self.0.clock.monotonic().duration_since(self.0.start).as_secs_f64();
        let text: String = text.to_string().chars().take(LINE_CHARACTERS_MAX).collect();
        let line = format!("[{seconds:9.3}] {}", text.replace('\n', " "));
        // A failing console must not keep the line from the server.
        let _ = writeln!(std::io::stdout(), "firstlight: {line}\r");
        let mut lines = self.0.lines.lock();
        if lines.kept.len() >= LINES_MAX {
            lines.kept.pop_front();
            lines.gone += 1;
        }
        lines.kept.push_back(line);
        drop(lines);
        self.0.news.notify_one();
    }

    /// Returns at most `count` of the oldest lines, and the number to pass to [`Self::forget`] when they have been sent.
    pub fn oldest(&self, count: usize) -> (Vec<String>, u64) {
        let lines = self.0.lines.lock();
        let oldest: Vec<String> = lines.kept.iter().take(count).cloned().collect();
        let number = lines.gone + oldest.len() as u64;
        if oldest.len() < lines.kept.len() {
            self.0.news.notify_one();
        }
        (oldest, number)
    }

    /// Removes the lines up to this number.
    pub fn forget(&self, number: u64) {
        let mut lines = self.0.lines.lock();
        while lines.gone < number && lines.kept.pop_front().is_some() {
            lines.gone += 1;
        }
    }

    /// Waits until there are lines to send, or until [`Self::wake`].
    pub async fn news(&self) {
        self.0.news.notified().await;
    }

    /// Wakes the task that waits in [`Self::news`].
    pub fn wake(&self) {
        self.0.news.notify_one();
    }
}
