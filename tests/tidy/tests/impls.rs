//! Tests of `tidy::impls`.

use std::collections::BTreeMap;
use tidy::impls::{spread, violations};

fn spread_of(files: &[(&str, &str)]) -> Vec<(String, usize)> {
    let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    let found = spread("x", &files).unwrap();
    found.into_iter().map(|((_, own), count)| (own, count)).collect()
}

fn rows(rows: &[(&str, usize)]) -> BTreeMap<(String, String), usize> {
    rows.iter().map(|(own, count)| (("x".to_owned(), (*own).to_owned()), *count)).collect()
}

const LIB: (&str, &str) = ("lib.rs", "mod a; mod b; mod c; mod d; mod e; pub use a::A;");
const DEFINITION: (&str, &str) = ("a.rs", "pub struct A; impl A {} impl A {} impl Clone for A {}");

#[test]
fn files_with_impls_of_one_type_are_counted() {
    let (b, c) = (("b.rs", "use crate::a::A; impl A {}"), ("c.rs", "use super::A; impl A {}"));
    assert!(spread_of(&[LIB, DEFINITION, b, c]).is_empty());
    let elsewhere = [
        "impl crate::a::A {}",
        "use crate::a::A as Own; impl Own {}",
        "use crate::A; impl<'a> A where u8: Copy {}",
    ];
    for d in elsewhere {
        let found = spread_of(&[LIB, DEFINITION, b, c, ("d.rs", d)]);
        assert_eq!(found.iter().map(|(_, count)| *count).max(), Some(4), "{d}");
    }
}

#[test]
fn types_of_one_name_traits_and_tests_do_not_count() {
    let (b, c) = (("b.rs", "use crate::a::A; impl A {}"), ("c.rs", "use super::A; impl A {}"));
    for d in [
        "struct A; impl A {}",
        "use crate::a::A; impl Drop for A { fn drop(&mut self) {} }",
        "#[cfg(test)] mod tests { use crate::a::A; impl A {} }",
        "use crate::a::A; #[cfg(test)] impl A {}",
        "use other::A; impl A {}",
    ] {
        assert!(spread_of(&[LIB, DEFINITION, b, c, ("d.rs", d)]).is_empty(), "{d}");
    }
}

#[test]
fn a_known_number_may_only_fall() {
    let known = rows(&[("A", 6)]);
    assert!(violations(&rows(&[("A", 6)]), &known).is_empty());
    for other in [&[("A", 7)][..], &[("A", 5)], &[], &[("A", 6), ("B", 4)]] {
        assert_eq!(violations(&rows(other), &known).len(), 1, "{other:?}");
    }
}
