//! What all benchmarks share.

use std::path::PathBuf;

use anyhow::Result;
use machinery::clock::Clock;

/// The options and helpers that all benchmarks share.
pub struct Bench {
    pub binary: PathBuf,
    pub rounds: usize,
    pub only: String,
    pub clusters: Vec<usize>,
    pub clusterctl: Option<PathBuf>,
    pub clock: Clock,
}

impl Bench {
    /// Prints the median of the values that `measure` returns in each round.
    ///
    /// # Errors
    /// Returns the error of the first round that fails.
    pub async fn figure(
        &self,
        name: &str,
        unit: &str,
        measure: impl AsyncFn(&Self) -> Result<f64>,
    ) -> Result<()> {
        if !name.contains(&self.only) {
            return Ok(());
        }
        let mut values = Vec::new();
        for _ in 0..self.rounds {
            values.push(measure(self).await?);
        }
        values.sort_by(f64::total_cmp);
        let median = values.get(values.len() / 2).copied().unwrap_or_default();
        let (low, high) =
            (values.first().copied().unwrap_or_default(), values.last().copied().unwrap_or_default());
        print(&format!("| {name} | {median:.3} {unit} | {low:.3}–{high:.3} |"));
        Ok(())
    }
}

#[expect(clippy::print_stdout, reason = "this is a command")]
pub fn print(line: &str) {
    println!("{line}");
}
