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

#[cfg(test)]
mod tests {
    use super::super::list::Suite;
    use super::*;

    #[test]
    fn every_way_to_differ_from_the_list() {
        let suite = Suite::parse("s", "module m v1\npackage .\nfails a\n  why\nfails b\n  why\n").unwrap();
        let package = &suite.packages[0];
        let failed = || Outcome::Failed("no".to_owned());
        /// Columns: results, whether the program succeeded, and what is wrong.
        type Case<'a> = (&'a [(&'a str, Outcome)], bool, &'a [&'a str]);
        let cases: [Case<'_>; 7] = [
            (&[("a", failed()), ("b", failed()), ("c", Outcome::Passed)], false, &[]),
            (&[("a", failed()), ("b", failed()), ("c", Outcome::Skipped)], false, &["package ."]),
            (&[("a", failed()), ("b", Outcome::Passed), ("c", Outcome::Passed)], false, &["b"]),
            (&[("a", failed()), ("b", Outcome::Skipped), ("c", Outcome::Passed)], false, &["b"]),
            (&[("a", failed()), ("c", Outcome::Passed)], false, &["b"]),
            (&[("a", failed()), ("b", failed()), ("c", failed()), ("d", Outcome::Passed)], false, &["c"]),
            (&[("a", failed()), ("b", failed()), ("c", Outcome::Passed)], true, &["package ."]),
        ];
        for (results, success, wrong) in cases {
            let results =
                results.iter().map(|(name, outcome)| ((*name).to_owned(), outcome.clone())).collect();
            let verdict = judge(package, &results, success);
            assert_eq!(verdict.wrong.keys().collect::<Vec<_>>(), wrong, "{results:?}");
        }
        let plain = Suite::parse("s", "module m v1\npackage .\n").unwrap();
        let results = Results::from([("c".to_owned(), Outcome::Passed)]);
        assert!(judge(&plain.packages[0], &results, true).wrong.is_empty());
        assert_eq!(judge(&plain.packages[0], &results, false).wrong.len(), 1, "ended badly after its tests");
    }
}
