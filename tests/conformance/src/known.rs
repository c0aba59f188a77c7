//! The list of cases that are known to fail, with the reasons.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// The placeholder for a missing reason in an updated list; never accepted.
pub const UNEXPLAINED: &str = "unexplained";

/// Returns the path of the list.
pub fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("known-failures.txt")
}

/// Names of cases with the reasons of their failure.
pub type Known = BTreeMap<String, String>;

/// Reads the list.
///
/// # Errors
/// Fails if the file cannot be read, or a line is not `topic/case: reason`.
pub fn read() -> Result<Known> {
    let text = std::fs::read_to_string(path()).context("known-failures.txt")?;
    parse(&text)
}

/// Reads the lines of the list.
///
/// # Errors
/// A line is not `topic/case: reason`.
pub fn parse(text: &str) -> Result<Known> {
    let line = |line: &str| {
        let (case, reason) = line.split_once(": ")?;
        Some((case.to_owned(), reason.to_owned()))
    };
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    lines.map(|text| line(text).with_context(|| format!("`{text}` is not `topic/case: reason`"))).collect()
}

/// Returns the text of the list.
pub fn write(known: &Known) -> String {
    let lines = known.iter().map(|(case, reason)| format!("{case}: {reason}\n"));
    "# Cases that fail, each with its reason. UPDATE_EXPECT=1 cargo xtask test conformance writes this list.\n"
        .to_owned()
        + &lines.collect::<String>()
}

/// Returns the list for these failures; existing reasons are kept.
pub fn update(known: &Known, failed: &[String]) -> Known {
    let reason = |case: &String| known.get(case).map_or(UNEXPLAINED, String::as_str).to_owned();
    failed.iter().map(|case| (case.clone(), reason(case))).collect()
}

/// Returns the errors in the list, a line each: failures that are not listed, listed cases that pass, missing
/// reasons.
pub fn violations(known: &Known, failed: &[String]) -> Vec<String> {
    let regressions = failed.iter().filter(|case| !known.contains_key(*case));
    let mut found: Vec<String> = regressions.map(|case| format!("{case} fails and is not listed")).collect();
    let stale = known.keys().filter(|case| !failed.contains(case));
    found.extend(stale.map(|case| format!("{case} is listed and passes")));
    let unexplained = known.iter().filter(|(_, reason)| *reason == UNEXPLAINED);
    found.extend(unexplained.map(|(case, _)| format!("{case} has no reason")));
    found
}
