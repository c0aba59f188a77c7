//! Tests of `tidy::pages`.

use tidy::pages::{PROSE_COLUMNS_MAX, ROW_COLUMNS_MAX, links, long_lines, named_paths, repeated_lines};

#[test]
fn a_line_stands_once() {
    let line = "A sentence that is long enough to be noticed by somebody.";
    assert_eq!(repeated_lines("p.md", &format!("{line}\n\n{line}\n")).len(), 1);
    assert!(repeated_lines("p.md", &format!("{line}\n```\n{line}\n```\n")).is_empty());
    assert!(repeated_lines("p.md", "short\nshort\n").is_empty());
    let reference = "- Checked by: `store/tests/bounds.rs`, `store/tests/memory.rs`;";
    assert!(repeated_lines("p.md", &format!("{reference}\n\n{reference}\n")).is_empty());
    let sentence = "That is checked by `store/tests/bounds.rs` and others.";
    assert_eq!(repeated_lines("p.md", &format!("{sentence}\n\n{sentence}\n")).len(), 1);
}

#[test]
fn lines_fit_a_terminal() {
    let long = |text: String| long_lines("p.md", &text, true).len();
    let (short, word) = ("a ".repeat(PROSE_COLUMNS_MAX / 2), "a".repeat(PROSE_COLUMNS_MAX + 1));
    assert_eq!(long(format!("{short}\n{short}a\n```\n{short}a\n```\n")), 1);
    assert_eq!(long(format!("- `{short}a`.\n{word}\n![{short}](a.svg)\n")), 0);
    let row = |columns: usize| format!("|{}|\n", " ".repeat(columns - 2));
    assert_eq!(long(row(ROW_COLUMNS_MAX)), 0);
    assert_eq!(long(row(ROW_COLUMNS_MAX + 1)), 1);
    assert_eq!(long_lines("p.md", &row(ROW_COLUMNS_MAX + 1), false).len(), 0);
}

#[test]
fn paths_are_told_from_other_words() {
    let folder = |name: &str| ["docs", "store"].contains(&name);
    let text = "`docs/pages` `store/tests/{bounds,full}.rs` `store/x` `a/b.rs` `docs/NAME.txt` `docs/*.md`";
    let paths: Vec<String> = named_paths(text, folder).into_iter().map(|(_, path)| path).collect();
    assert_eq!(paths, ["docs/pages", "store/tests/bounds.rs", "store/tests/full.rs"]);
}

#[test]
fn links_to_files_are_found() {
    let text = "[a](b.md#c) [d](https://example.org/e) [f](#g) [h](../i/j.rs)";
    assert_eq!(links(text), [(1, "b.md".to_owned()), (1, "../i/j.rs".to_owned())]);
}
