//! Tests of `clients::suites::judge`.

use clients::suites::judge::judge;
use clients::suites::list::Suite;
use clients::suites::results::{Outcome, Results};

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
        let results = results.iter().map(|(name, outcome)| ((*name).to_owned(), outcome.clone())).collect();
        let verdict = judge(package, &results, success);
        assert_eq!(verdict.wrong.keys().collect::<Vec<_>>(), wrong, "{results:?}");
    }
    let plain = Suite::parse("s", "module m v1\npackage .\n").unwrap();
    let results = Results::from([("c".to_owned(), Outcome::Passed)]);
    assert!(judge(&plain.packages[0], &results, true).wrong.is_empty());
    assert_eq!(judge(&plain.packages[0], &results, false).wrong.len(), 1, "ended badly after its tests");
}
