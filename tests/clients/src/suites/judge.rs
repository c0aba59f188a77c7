//! Whether tests ended as the list says.

use std::collections::BTreeMap;

use super::list::Package;
use super::results::{Outcome, Results};

/// A package's tests beside its list.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// How many passed.
    pub passed: usize,
    /// How many their authors leave out.
    pub skipped: usize,
    /// Those that fail as the list says, with its reasons.
    pub expected: Vec<(String, String)>,
    /// What is not as it should be: tests, and what is wrong with each.
    pub wrong: BTreeMap<String, String>,
}

/// Compares. A program that fails although no test does, and one without a test that passes, is wrong as a whole.
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
        /// Results, whether the program ended well, and what is wrong.
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
