//! Parses the results of test programs: Go's output, and ginkgo's report.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::Value;

/// The result of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The test passed.
    Passed,
    /// The test was skipped by its authors.
    Skipped,
    /// The test failed with this message.
    Failed(String),
}

/// Results by test name. A test with subtests is left out, unless it fails while all its subtests pass.
pub type Results = BTreeMap<String, Outcome>;

/// Parses the lines `--- PASS: NAME (TIME)` of `-test.v`.
pub fn of_go(printed: &str) -> Results {
    let mut all = Results::new();
    for line in printed.lines() {
        let Some((word, name)) =
            line.trim_start().strip_prefix("--- ").and_then(|rest| rest.split_once(": "))
        else {
            continue;
        };
        let outcome = match word {
            "PASS" => Outcome::Passed,
            "SKIP" => Outcome::Skipped,
            "FAIL" => Outcome::Failed("see the log".to_owned()),
            _ => continue,
        };
        let name = name.rsplit_once(" (").map_or(name, |(name, _)| name);
        all.insert(name.to_owned(), outcome);
    }
    let is_told_by_subtests = |name: &str, outcome: &Outcome| {
        let start = format!("{name}/");
        let mut subtests = all.iter().filter(|(other, _)| other.starts_with(&start)).peekable();
        let failed = matches!(outcome, Outcome::Failed(_));
        subtests.peek().is_some()
            && (!failed || subtests.any(|(_, outcome)| matches!(outcome, Outcome::Failed(_))))
    };
    let told: Vec<String> = all
        .iter()
        .filter(|(name, outcome)| is_told_by_subtests(name, outcome))
        .map(|(name, _)| name.clone())
        .collect();
    all.retain(|name, _| !told.contains(name));
    all
}

/// Parses ginkgo's JSON report. Set-up and tear-down nodes are included only if they failed.
///
/// # Errors
/// Fails if the text is not such a report.
pub fn of_ginkgo(report: &[u8]) -> Result<Results> {
    let suites: Value = serde_json::from_slice(report).context("ginkgo's report")?;
    let mut all = Results::new();
    for suite in suites.as_array().context("ginkgo's report is no list")? {
        for spec in suite["SpecReports"].as_array().into_iter().flatten() {
            let outcome = match spec["State"].as_str().unwrap_or_default() {
                "passed" => Outcome::Passed,
                "pending" | "skipped" => Outcome::Skipped,
                _ => Outcome::Failed(spec["Failure"]["Message"].as_str().unwrap_or_default().to_owned()),
            };
            let kind = spec["LeafNodeType"].as_str().unwrap_or_default();
            if kind == "It" {
                let texts = spec["ContainerHierarchyTexts"].as_array().into_iter().flatten();
                let texts: Vec<&str> =
                    texts.chain([&spec["LeafNodeText"]]).filter_map(Value::as_str).collect();
                all.insert(numbered(&all, texts.join(" ")), outcome);
            } else if outcome != Outcome::Passed {
                all.insert(numbered(&all, format!("[{kind}]")), outcome);
            }
        }
    }
    Ok(all)
}

/// Returns the name, with a number if the name already exists.
fn numbered(all: &Results, name: String) -> String {
    let free = |number: &u32| !all.contains_key(&format!("{name} #{number}"));
    match all.contains_key(&name) {
        true => (2..).find(free).map(|number| format!("{name} #{number}")).unwrap_or(name),
        false => name,
    }
}
