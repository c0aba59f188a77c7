//! The options of the benchmarks, and how they print a figure.

use std::path::PathBuf;

use anyhow::Result;
use machinery::clock::Clock;

/// The options that all benchmarks share.
pub struct Bench {
    /// The release binary that is measured.
    pub binary: PathBuf,
    /// The number of measurements of each figure.
    pub rounds: usize,
    /// Only figures whose name contains this text are measured.
    pub only: String,
    /// The numbers of clusters for figures that depend on them.
    pub clusters: Vec<usize>,
    /// The program `clusterctl` that moves pivoted clusters back; without it, this figure is not measured.
    pub clusterctl: Option<PathBuf>,
    /// The clock.
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
        self.figures(&[(name, unit)], async |bench| Ok(vec![measure(bench).await?])).await
    }

    /// Prints the medians of several figures that `measure` returns together in each round. Each has a name and a unit.
    ///
    /// # Errors
    /// Returns the error of the first round that fails.
    pub async fn figures(
        &self,
        names: &[(&str, &str)],
        measure: impl AsyncFn(&Self) -> Result<Vec<f64>>,
    ) -> Result<()> {
        if !names.iter().any(|(name, _)| name.contains(&self.only)) {
            return Ok(());
        }
        let mut rounds = Vec::new();
        for _ in 0..self.rounds {
            rounds.push(measure(self).await?);
        }
        for (index, (name, unit)) in
            names.iter().enumerate().filter(|(_, (name, _))| name.contains(&self.only))
        {
            let mut values: Vec<f64> = rounds.iter().filter_map(|round| round.get(index).copied()).collect();
            values.sort_by(f64::total_cmp);
            let median = values.get(values.len() / 2).copied().unwrap_or_default();
            let (low, high) =
                (values.first().copied().unwrap_or_default(), values.last().copied().unwrap_or_default());
            print(&format!("| {name} | {median:.3} {unit} | {low:.3}–{high:.3} |"));
        }
        Ok(())
    }
}

/// Writes a line of the result to standard output.
#[expect(clippy::print_stdout, reason = "this is a command")]
pub fn print(line: &str) {
    println!("{line}");
}
