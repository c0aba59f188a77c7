//! Tests of `tidy::references`.

use tidy::references::{Reference, has_function, has_test, of, without_a_path};

fn one(line: usize, path: &str, functions: &[&str]) -> Reference {
    let functions = functions.iter().map(|name| (*name).to_owned()).collect();
    Reference { line, path: path.to_owned(), functions }
}

#[test]
fn a_reference_has_the_names_behind_its_path() {
    let cases = [
        (
            "| rule | `a/b.rs` | `a/c.rs` first, it_is_so; `a/d.rs` |",
            vec![one(1, "a/b.rs", &[]), one(1, "a/c.rs", &["first", "it_is_so"]), one(1, "a/d.rs", &[])],
        ),
        (
            "- x\n  - Checked by: `a/c.rs` it_is_so,\n    it_is_also_so.\n",
            vec![one(2, "a/c.rs", &["it_is_so", "it_is_also_so"])],
        ),
        (
            "`a/c.rs`: `it_is_so` (the case `join-worker`), at every write",
            vec![one(1, "a/c.rs", &["it_is_so"])],
        ),
        ("`a/{b,c}.rs` (each test)", vec![one(1, "a/{b,c}.rs", &[])]),
        (
            "(`a/b.rs` it_is_so, `a/c.rs` it_is_also_so). And, so_it_goes_on, too",
            vec![one(1, "a/b.rs", &["it_is_so"]), one(1, "a/c.rs", &["it_is_also_so"])],
        ),
        ("```\n`a/b.rs` it_is_so\n```\n`b.rs` `a/b`", vec![]),
    ];
    for (text, expected) in cases {
        assert_eq!(of(text), expected, "{text}");
    }
}

#[test]
fn a_name_without_a_path_is_found() {
    assert_eq!(without_a_path("its test it_is_so"), [(1, "it_is_so".to_owned())]);
    assert!(without_a_path("`a/b.rs` it_is_so, and `other_names_in_quotes`; max_surge").is_empty());
}

#[test]
fn functions_are_looked_for_by_their_whole_name() {
    let source =
        "use a;\n\n#[test]\nfn it_is_so() {\n}\nfn helper<T>() {}\n\n#[tokio::test]\nasync fn also() {}\n";
    assert!(has_function(source, "it_is_so") && has_function(source, "helper"));
    assert!(!has_function(source, "it_is") && !has_function(source, "is_so"));
    assert!(has_test(source, "it_is_so") && has_test(source, "also"));
    assert!(!has_test(source, "helper") && !has_test(source, "it_is"));
}
