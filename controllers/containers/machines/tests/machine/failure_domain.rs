//! Tests of `container_machines::machine::failure_domain`.

use std::collections::BTreeMap;

use container_machines::machine::failure_domain::choose;

fn chosen(known: &[(&str, Option<&str>)], name: &str) -> Option<String> {
    let known = known.iter().map(|(name, domain)| ((*name).to_owned(), domain.map(str::to_owned)));
    choose(&["fd1".to_owned(), "fd2".to_owned()], &known.collect(), name)
}

#[test]
fn machines_are_spread() {
    type Row<'a> = (&'a [(&'a str, Option<&'a str>)], &'a str, &'a str);
    let rows: [Row<'_>; 6] = [
        (&[], "a", "fd1"),
        (&[("a", None), ("b", None), ("c", None)], "a", "fd1"),
        (&[("a", None), ("b", None), ("c", None)], "b", "fd2"),
        (&[("a", None), ("b", None), ("c", None)], "c", "fd1"),
        (&[("a", Some("fd1")), ("b", None)], "b", "fd2"),
        (&[("b", Some("fd1")), ("c", Some("another"))], "a", "fd2"),
    ];
    for (known, name, expected) in rows {
        assert_eq!(chosen(known, name).as_deref(), Some(expected), "{known:?} {name}");
    }
}

#[test]
fn a_pool_without_failure_domains_has_none() {
    assert_eq!(choose(&[], &BTreeMap::new(), "a"), None);
}
