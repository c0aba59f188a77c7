//! Tests of `tidy::map`.

use tidy::map::{LINES_MAX, WORDS_MAX, describes, violations};

#[test]
fn each_crate_has_its_row_and_its_page() {
    let map = "| folder | crates |\n|---|---|\n| `a`, some | `b`, `c` |\n| `d` | `d` |\n\n| `a` | `e` |\n";
    let crates = ["a/b", "a/c", "d"].map(str::to_owned);
    let page = "# a\n## a/b\n## a/c\n## d\n".to_owned();
    assert!(violations(map, &crates, std::slice::from_ref(&page)).is_empty());
    let without_a_page = violations(map, &crates, &["# a\n## a/bc\n## a/c\n## d\n".to_owned()]);
    assert_eq!(without_a_page, ["no page of docs/architecture describes a/b"]);
    assert_eq!(violations(map, &crates[..2], std::slice::from_ref(&page)).len(), 1);
    let more = ["a/b", "a/c", "a/e", "d"].map(str::to_owned);
    assert_eq!(violations(map, &more, &[page]).len(), 2);
}

#[test]
fn a_suite_is_named_on_the_page_of_the_tests() {
    assert!(describes("# tests/: suites\n`crash` cuts the power\n", "tests/crash"));
    assert!(!describes("# pods\n`crash` cuts the power\n", "tests/crash"));
}

#[test]
fn the_map_fits_on_a_page() {
    let row = "| `a` | `b` |\n";
    let words = format!("| word | meaning |\n|---|---|\n{}", row.repeat(WORDS_MAX + 1));
    assert_eq!(violations(&words, &[], &[]).len(), 1);
    assert_eq!(violations(&"line\n".repeat(LINES_MAX + 1), &[], &[]).len(), 1);
    assert!(violations(&"line\n".repeat(LINES_MAX), &[], &[]).is_empty());
}
