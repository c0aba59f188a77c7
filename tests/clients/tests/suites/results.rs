//! Tests of `clients::suites::results`.

use clients::suites::results::{Outcome, Results, of_ginkgo, of_go};

#[test]
fn tests_with_subtests_are_told_by_them() {
    let printed = "=== RUN TestA\n--- FAIL: TestA (0.1s)\n    --- PASS: TestA/one (0.00s)\n    --- FAIL: TestA/two (0.00s)\n\
        --- PASS: TestB (0.00s)\n    --- SKIP: TestB/one (0.00s)\n--- FAIL: TestC (1s)\n    --- PASS: TestC/one (0.00s)\n--- PASS: TestD (0s)\n";
    let failed = Outcome::Failed("see the log".to_owned());
    let wanted = [
        ("TestA/one", Outcome::Passed),
        ("TestA/two", failed.clone()),
        ("TestB/one", Outcome::Skipped),
        ("TestC", failed),
        ("TestC/one", Outcome::Passed),
        ("TestD", Outcome::Passed),
    ];
    let wanted: Results = wanted.into_iter().map(|(name, outcome)| (name.to_owned(), outcome)).collect();
    assert_eq!(of_go(printed), wanted);
}

#[test]
fn specs_and_what_failed_around_them() {
    let spec = |kind: &str, text: &str, state: &str| {
        let around = if kind == "It" { vec!["a", "b"] } else { vec![] };
        serde_json::json!({"LeafNodeType": kind, "LeafNodeText": text, "State": state, "ContainerHierarchyTexts": around,
            "Failure": {"Message": "why"}})
    };
    let specs = [
        spec("BeforeSuite", "", "passed"),
        spec("It", "c", "passed"),
        spec("It", "c", "failed"),
        spec("It", "d", "pending"),
        spec("AfterSuite", "", "panicked"),
    ];
    let report = serde_json::json!([{"SpecReports": specs}, {"SpecReports": null}]).to_string();
    let wanted = [
        ("[AfterSuite]", Outcome::Failed("why".into())),
        ("a b c", Outcome::Passed),
        ("a b c #2", Outcome::Failed("why".into())),
        ("a b d", Outcome::Skipped),
    ];
    let wanted: Results = wanted.into_iter().map(|(name, outcome)| (name.to_owned(), outcome)).collect();
    assert_eq!(of_ginkgo(report.as_bytes()).unwrap(), wanted);
    assert!(of_ginkgo(b"{}").is_err());
}
