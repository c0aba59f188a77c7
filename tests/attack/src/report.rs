//! What a scenario found.

use std::collections::BTreeSet;

/// How many lines are shown of one scenario: one hole shows in thousands of requests.
const LINES: usize = 40;

/// What was broken, and the figures of a scenario.
#[derive(Default)]
pub struct Broken {
    lines: BTreeSet<String>,
    count: usize,
    /// What was done and measured, for one line.
    pub figures: String,
}

impl Broken {
    /// Something that must not be. It is shown at once: what follows may take long.
    pub fn add(&mut self, line: String) {
        self.count += 1;
        if self.lines.len() < LINES && !self.lines.contains(&line) {
            println!("  BROKEN {line}");
            self.lines.insert(line);
        }
    }

    /// With all that another part found, and has shown.
    pub fn extend(&mut self, other: Self) {
        self.count += other.count;
        self.lines.extend(other.lines);
    }

    /// How much it is.
    pub fn count(&self) -> usize {
        self.count
    }
}
