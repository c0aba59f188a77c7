//! Tests of `conformance::read`.

use conformance::read::warnings;

#[test]
fn warnings_are_unquoted() {
    assert_eq!(warnings(r#"299 - "a \"b\" c", 299 - "d""#), [r#"a "b" c"#, "d"]);
}
