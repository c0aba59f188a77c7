//! Compares the results of tests with the list of expected failures.

use std::collections::BTreeMap;

use super::list::Package;
use super::results::{Outcome, Results};

/// The results of a package compared with its list.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Number of passed tests.
    pub passed: usize,
    /// Number of tests skipped by their authors.
    pub skipped: usize,
    /// Tests that fail as listed, with the reasons.
    pub expected: Vec<(String, String)>,
    /// Tests with unexpected results, and what is wrong with each.
    pub wrong: BTreeMap<String, String>,
}

/// Compares the results. A program that fails although no test fails, or without any passing test, is wrong
/// as a whole.
pub fn judge(package: &Package, results: &Results, success: bool) -> Verdict {
    let mut verdict = Verdict::default();
    for (name, outcome) in results {
        let listed = package.fails.iter().find(|expected| expected.test == *name);
        match (outcome, listed) {
            (Outcome::Passed, None) => verdict.passed += 1,
            (Outcome::Skipped, None) => verdict.skipped += 1,
            (Outcome::Failed(_), Some(listed)) => {
                verdict.expected.push((name.clone(), listed.reason.clone()));
            }
            (Outcome::Failed(why), None) => {
                verdict.wrong.insert(name.clone(), why.clone());
            }
            (_, Some(_)) => {
                verdict.wrong.insert(name.clone(), "is listed as failing, and does not fail".to_owned());
            }
        }
    }
    for listed in package.fails.iter().filter(|listed| !results.contains_key(&listed.test)) {
        verdict.wrong.insert(listed.test.clone(), "is listed as failing, and did not run".to_owned());
    }
    let any_failed = results.values().any(|outcome| matches!(outcome, Outcome::Failed(_)));
    if verdict.passed == 0 || success == any_failed {
        verdict
            .wrong
            .insert(format!("package {}", package.folder), "the program as a whole failed".to_owned());
    }
    verdict
}
