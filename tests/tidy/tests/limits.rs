//! Tests of `tidy::limits`.

use tidy::limits::{constants, violations};

#[test]
fn each_limit_is_counted_or_named() {
    let source = "/// The first.\npub const FIRST: usize = 1;\npub(crate) const SECOND: u8 = 2;\n";
    let page = |last: &str| {
        format!(
            "## Limits\n### a/b\n| limit | counted as |\n|---|---|\n| `FIRST` | `first` |\n\n{last}\n\n### c\n"
        )
    };
    let counts = ["limit(\"first\")".to_owned()];
    assert_eq!(constants(source), ["FIRST", "SECOND"]);
    assert!(violations("a/b", source, &page("Not counted: `SECOND`."), &counts).is_empty());
    assert_eq!(violations("a/b", source, &page(""), &counts).len(), 1);
    assert_eq!(violations("a/b", source, &page("Not counted: `SECOND`."), &[]).len(), 1);
    assert_eq!(violations("a/b", source, &page("Not counted: `SECOND`, `THIRD`."), &counts).len(), 1);
    assert_eq!(violations("d", source, &page(""), &counts).len(), 1);
}
