//! Tests of `tidy::edges`.

use tidy::edges::{Edge, violations};

#[test]
fn forbidden_edges_are_named() {
    let rooms: Vec<(String, String)> = [
        ("machinery", "apiserver"),
        ("store", "apiserver"),
        ("serving", "apiserver"),
        ("schemas", "schemas"),
        ("engine", "controllers"),
        ("stray", "misc"),
    ]
    .map(|(name, room)| (name.to_owned(), room.to_owned()))
    .to_vec();
    let cases = [
        ("store", "machinery", 0),
        ("engine", "schemas", 0),
        ("machinery", "store", 1),
        ("serving", "schemas", 1),
        ("engine", "store", 1),
        ("engine", "stray", 1),
    ];
    for (from, to, expected) in cases {
        let edge = Edge { from: from.into(), to: to.into() };
        let found = violations(&[edge], &rooms);
        assert_eq!(found.len(), expected, "{from} -> {to}: {found:?}");
    }
}
