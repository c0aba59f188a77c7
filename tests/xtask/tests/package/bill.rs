//! Tests of `xtask::package::bill`.

use std::collections::BTreeSet;

use xtask::package::bill::{Crates, component};

#[test]
fn a_tree_becomes_crates_and_edges() {
    let mut crates = Crates::default();
    let tree = "0a v0.1.0 (/x/a)|Apache-2.0|\n1b v1.0.0|MIT/Apache-2.0|https://b\n2c v2.0.0 (proc-macro)||\n1c v2.0.0 (proc-macro)|| (*)\n";
    crates.read(tree).unwrap();
    let key = |name: &str, version: &str| (name.to_owned(), version.to_owned());
    let (a, b, c) = (key("a", "0.1.0"), key("b", "1.0.0"), key("c", "2.0.0"));
    assert_eq!(crates.edges[&a], BTreeSet::from([b.clone(), c.clone()]));
    assert_eq!(crates.edges[&b], BTreeSet::from([c.clone()]));
    let made = component(&b, &crates.known[&b], Some(&"00".to_owned()));
    assert_eq!(made["licenses"][0]["expression"], "MIT OR Apache-2.0");
    assert_eq!(made["purl"], "pkg:cargo/b@1.0.0");
    assert_eq!(component(&c, &crates.known[&c], None).get("licenses"), None);
    assert!(Crates::default().read("no depth").is_err());
}
