//! Checks that every recorded case is answered as kube-apiserver does, except those in `known-failures.txt`.
#![expect(clippy::print_stderr, reason = "a failing run shows what differs")]

use conformance::model::Golden;
use conformance::{known, page, run};

/// Minimum share of passed cases of each topic, in percent.
const SHARE_MIN: usize = 75;

/// Returns whether the lists are to be rewritten.
fn updating() -> bool {
    std::env::var_os("UPDATE_EXPECT").is_some()
}

#[test]
fn answers_are_those_of_the_real_server() {
    let topics = run::topics(&Golden::committed(), |_| true).unwrap();
    let verdicts = topics.values().flatten();
    let failed: Vec<&run::Verdict> = verdicts.filter(|verdict| !verdict.steps.is_empty()).collect();
    let names: Vec<String> = failed.iter().map(|verdict| verdict.case.clone()).collect();
    let mut listed = known::read().unwrap();
    if updating() {
        listed = known::update(&listed, &names);
        std::fs::write(known::path(), known::write(&listed)).unwrap();
        std::fs::write(page::path(), page::write(&Golden::committed().totals().unwrap(), &listed)).unwrap();
    }
    for verdict in failed.iter().filter(|verdict| !listed.contains_key(&verdict.case)) {
        for (number, request, differences) in &verdict.steps {
            eprintln!("{} step {number}: {request}", verdict.case);
            differences.iter().for_each(|difference| eprintln!("     {difference}"));
        }
    }
    let mut wrong = known::violations(&listed, &names);
    for (topic, verdicts) in &topics {
        let passed = verdicts.iter().filter(|verdict| verdict.steps.is_empty()).count();
        if passed * 100 < verdicts.len() * SHARE_MIN {
            wrong.push(format!("{topic}: only {passed} of {} pass", verdicts.len()));
        }
    }
    assert!(wrong.is_empty(), "{}\nUPDATE_EXPECT=1 rewrites the list", wrong.join("\n"));
}

#[test]
fn the_page_says_what_the_list_says() {
    if updating() {
        return;
    }
    let written = std::fs::read_to_string(page::path()).unwrap();
    let expected = page::write(&Golden::committed().totals().unwrap(), &known::read().unwrap());
    assert!(
        written == expected,
        "docs/conformance.md is stale; UPDATE_EXPECT=1 cargo xtask test conformance writes it"
    );
}

/// Returns the tests that the page names, as (file, function). The page's format is `path/of/file.rs`: one,
/// another.
fn named_tests() -> Vec<(String, String)> {
    let mut named = Vec::new();
    for part in page::CLIENTS.lines().flat_map(|line| line.split(['|', ';'])) {
        let Some((path, functions)) = part.split_once("`: ") else { continue };
        let path = path.trim().trim_start_matches('`');
        named.extend(functions.split(", ").map(|function| (path.to_owned(), function.trim().to_owned())));
    }
    named
}

#[test]
fn the_tests_that_the_page_names_are_there() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let named = named_tests();
    assert!(named.len() > 30, "{named:?}");
    for (path, function) in named {
        let text =
            std::fs::read_to_string(root.join(&path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(text.contains(&format!("fn {function}(")), "{path} has no test {function}");
    }
    for path in page::CLIENTS
        .split('`')
        .filter(|part| part.contains('/') && part.contains('.') && !part.contains(' '))
    {
        let is_file = path.starts_with("apiserver/") || path.starts_with("tests/");
        assert!(!is_file || root.join(path).exists(), "{path} is not there");
    }
}
