//! Collects the results of a scenario.

use std::collections::BTreeSet;

/// Number of lines shown per scenario, since one defect may appear in thousands of requests.
const LINES: usize = 40;

/// The violations and figures of a scenario.
#[derive(Default)]
pub struct Broken {
    lines: BTreeSet<String>,
    count: usize,
    /// Summary of work and measurements, in one line.
    pub figures: String,
}

impl Broken {
    /// Adds a violation and prints it at once, since the rest of the scenario may take long.
    pub fn add(&mut self, line: String) {
        self.count += 1;
        if self.lines.len() < LINES && !self.lines.contains(&line) {
            println!("  BROKEN {line}");
            self.lines.insert(line);
        }
    }

    /// Adds the results of another part, which were already printed.
    pub fn extend(&mut self, other: Self) {
        self.count += other.count;
        self.lines.extend(other.lines);
    }

    /// Returns the number of violations.
    pub fn count(&self) -> usize {
        self.count
    }
}
