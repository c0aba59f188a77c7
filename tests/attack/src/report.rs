//! What a scenario found.

/// How many lines are kept of one scenario: one hole shows in thousands of requests.
const LINES: usize = 40;

/// What was broken, and the figures of a scenario.
#[derive(Default)]
pub struct Broken {
    lines: Vec<String>,
    count: usize,
    /// What was done and measured, for one line.
    pub figures: String,
}

impl Broken {
    /// Something that must not be.
    pub fn add(&mut self, line: String) {
        self.count += 1;
        if self.lines.len() < LINES && !self.lines.contains(&line) {
            self.lines.push(line);
        }
    }

    /// With all that another part found.
    pub fn extend(&mut self, other: Self) {
        self.count += other.count;
        for line in other.lines {
            if self.lines.len() < LINES && !self.lines.contains(&line) {
                self.lines.push(line);
            }
        }
    }

    /// How much it is.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The first of them.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }
}
