//! The agent's log: lines for the console and for the server.

use std::collections::VecDeque;
use std::fmt::Display;
use std::io::Write;
use std::sync::Arc;

use machinery::clock::Clock;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Lines that are kept until the server has them; the oldest are dropped.
const LINES_MAX: usize = 2000;
/// Characters of a line; the rest is cut off.
const LINE_CHARACTERS_MAX: usize = 2000;

/// A log that everything on the machine writes to.
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
    /// Lines that were there before those that are kept.
    gone: u64,
}

impl Journal {
    /// An empty log. Its times are seconds since now: the clock of a machine without an operating system may be wrong by years.
    pub fn new(clock: Clock) -> Self {
        let start = clock.monotonic();
        Self(Arc::new(Inner { clock, start, lines: Mutex::default(), news: Notify::new() }))
    }

    /// Writes a line.
    pub fn line(&self, text: impl Display) {
        let seconds = self.0.clock.monotonic().duration_since(self.0.start).as_secs_f64();
        let text: String = text.to_string().chars().take(LINE_CHARACTERS_MAX).collect();
        let line = format!("[{seconds:9.3}] {}", text.replace('\n', " "));
        // A console that refuses a line is no reason to lose it for the server.
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

    /// The oldest `count` lines at most, and the number to give to [`Self::forget`] when they have been sent.
    pub fn oldest(&self, count: usize) -> (Vec<String>, u64) {
        let lines = self.0.lines.lock();
        let oldest: Vec<String> = lines.kept.iter().take(count).cloned().collect();
        let number = lines.gone + oldest.len() as u64;
        if oldest.len() < lines.kept.len() {
            self.0.news.notify_one();
        }
        (oldest, number)
    }

    /// Keeps the lines up to this number no longer.
    pub fn forget(&self, number: u64) {
        let mut lines = self.0.lines.lock();
        while lines.gone < number && lines.kept.pop_front().is_some() {
            lines.gone += 1;
        }
    }

    /// Waits until there is something to send.
    pub async fn news(&self) {
        self.0.news.notified().await;
    }

    /// Wakes who waits for [`Self::news`].
    pub fn wake(&self) {
        self.0.news.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_kept_in_order_and_within_bounds() {
        let journal = Journal::new(Clock::system());
        for number in 0..LINES_MAX + 5 {
            journal.line(format!("line {number}\nof two"));
        }
        let (lines, number) = journal.oldest(2);
        assert!(lines[0].ends_with("line 5 of two"), "{}", lines[0]);
        // One of the two lines is dropped before they have been sent; no other may go with them.
        journal.line("newer");
        journal.forget(number);
        let (rest, number) = journal.oldest(LINES_MAX);
        assert!(rest[0].ends_with("line 7 of two"), "{}", rest[0]);
        assert_eq!(rest.len(), LINES_MAX - 1);
        journal.forget(number);
        assert_eq!(journal.oldest(1).0, Vec::<String>::new());
    }
}
