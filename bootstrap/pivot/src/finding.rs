//! Problems that checks find, with advice.

use std::fmt;

use serde::Serialize;

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Severity {
    /// Nothing is moved until it is fixed.
    Error,
    /// The user should know it, but objects move.
    Warning,
}

/// A problem that a check found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// Severity of the finding.
    pub severity: Severity,
    /// The object concerned, and its server where that matters.
    pub object: String,
    /// The problem.
    pub what: String,
    /// Advice for the user.
    pub advice: String,
}

impl Finding {
    /// Returns a finding that must be fixed before the pivot.
    pub fn error(object: impl fmt::Display, what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            object: object.to_string(),
            what: what.into(),
            advice: advice.into(),
        }
    }

    /// Returns a finding that does not prevent the pivot.
    pub fn warning(object: impl fmt::Display, what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(object, what, advice) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{severity}: {}: {}; {}", self.object, self.what, self.advice)
    }
}

/// Returns the findings as text, with a line for each.
pub fn in_words(findings: &[Finding]) -> String {
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    format!("nothing was moved:\n{}", lines.join("\n"))
}
