//! Tests of `conformance::known`.

use conformance::known::{parse, update, violations, write};

#[test]
fn the_list_is_exact() {
    let known = parse("# list\na/x: because\na/y: also\n").unwrap();
    assert_eq!(parse(&write(&known)).unwrap(), known);
    let failed = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert!(violations(&known, &failed(&["a/x", "a/y"])).is_empty());
    assert_eq!(violations(&known, &failed(&["a/x", "a/y", "a/z"])).len(), 1);
    assert_eq!(violations(&known, &failed(&["a/x"])).len(), 1);
    let updated = update(&known, &failed(&["a/x", "a/z"]));
    assert_eq!(updated["a/x"], "because");
    assert_eq!(violations(&updated, &failed(&["a/x", "a/z"])), ["a/z has no reason"]);
}
