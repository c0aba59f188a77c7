//! Tests of `tidy::impls`.

use tidy::impls::violations;

fn spread_of(files: &[(&str, &str)]) -> Vec<String> {
    let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    violations("x", &files).unwrap()
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
        assert_eq!(found.len(), 1, "{d}: {found:?}");
        assert!(found[0].starts_with("x: impls of A stand in 4 files"), "{found:?}");
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
