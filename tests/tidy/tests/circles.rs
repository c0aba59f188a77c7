//! Tests of `tidy::circles`.

use tidy::circles::violations;

fn found(files: &[(&str, &str)]) -> Vec<String> {
    let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    violations("x", &files).unwrap()
}

#[test]
fn few_files_of_a_folder_may_need_each_other() {
    assert!(
        found(&[
            ("lib.rs", "mod a;"),
            ("a/mod.rs", "mod b; pub struct Shared; fn f() { b::g() }"),
            ("a/b.rs", "use super::Shared; pub fn g() {}"),
        ])
        .is_empty()
    );
}

#[test]
fn a_circle_that_leaves_its_folder_is_found() {
    let cases = [
        ("use crate::b::c::D;", "use crate::a::A;"),
        ("fn f() -> crate::b::c::D { todo() }", "use super::super::a::{A};"),
        ("use crate::b::D;", "fn g() { format!(\"{}\", crate::a::A) }"),
    ];
    for (a, c) in cases {
        let found = found(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", a),
            ("b/mod.rs", "mod c; pub use c::D;"),
            ("b/c.rs", c),
        ]);
        assert_eq!(found, ["x: 2 files import each other: a.rs b/c.rs"], "{a} {c}");
    }
}

#[test]
fn a_circle_of_many_files_is_found() {
    let names = ["a", "b", "c", "d", "e"];
    let mut files = vec![("lib.rs".to_owned(), "mod a; mod b; mod c; mod d; mod e;".to_owned())];
    for (position, name) in names.iter().enumerate() {
        let next = names[(position + 1) % names.len()];
        files.push((format!("{name}.rs"), format!("use crate::{next}::X;")));
    }
    let files = files.into_iter().collect();
    assert_eq!(violations("x", &files).unwrap().len(), 1);
}

#[test]
fn tests_are_left_out() {
    let test = "#[cfg(test)] mod tests { use crate::b::c::D; }";
    assert!(
        found(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", test),
            ("b/mod.rs", "mod c;"),
            ("b/c.rs", "use crate::a::A;")
        ])
        .is_empty()
    );
}
