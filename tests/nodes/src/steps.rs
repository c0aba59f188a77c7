//! The times of the steps of a scenario.

use std::io::Write as _;

use anyhow::Result;
use machinery::clock::Clock;
use tokio::time::Instant;

/// Prints when each step was done.
pub struct Steps {
    name: &'static str,
    start: Instant,
}

impl Steps {
    /// Begins to count.
    pub fn new(name: &'static str) -> Self {
        Self { name, start: Clock::system().monotonic() }
    }

    /// Prints that a step is done.
    ///
    /// # Errors
    /// Nothing can be printed.
    pub fn done(&self, what: &str) -> Result<()> {
        let seconds = self.seconds();
        Ok(writeln!(std::io::stdout(), "{}: {seconds:6.1} s  {what}", self.name)?)
    }

    /// Returns the seconds since the beginning.
    pub fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}
