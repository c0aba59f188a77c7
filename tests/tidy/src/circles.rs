//! Finds cycles of imports between the files of a crate.
//!
//! A few files of one folder may import each other, because they are read together. With a cycle that leaves
//! its folder or has many files, no part of it can be understood, moved or compiled separately.

use std::collections::{BTreeMap, BTreeSet};

use crate::imports::Imports;

/// Maximum number of files in an allowed cycle, which must be in one folder.
pub const CIRCLE_FILES_MAX: usize = 4;

/// The forbidden cycles of a crate, one per line.
///
/// `files` has the path of each source file in `src`, for example `machine/plan.rs`, with its text.
///
/// # Errors
/// A file is not valid Rust.
pub fn violations(name: &str, files: &BTreeMap<String, String>) -> Result<Vec<String>, syn::Error> {
    let imports = Imports::read(files)?;
    let mut found = Vec::new();
    for circle in circles(&imports.edges()) {
        let folders: BTreeSet<&str> = circle.iter().map(|file| folder(file, files)).collect();
        if folders.len() > 1 || circle.len() > CIRCLE_FILES_MAX {
            let files: Vec<&str> = circle.iter().copied().collect();
            found.push(format!("{name}: {} files import each other: {}", files.len(), files.join(" ")));
        }
    }
    Ok(found)
}

/// The folder of a file: `machine` for `machine/plan.rs`, for `machine/mod.rs`, and for `machine.rs` if that
/// folder exists.
fn folder<'a>(file: &'a str, files: &BTreeMap<String, String>) -> &'a str {
    let stem = file.trim_end_matches(".rs");
    if files.keys().any(|other| other.strip_prefix(stem).is_some_and(|rest| rest.starts_with('/'))) {
        return stem;
    }
    file.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The strongly connected components with more than one file.
fn circles<'a>(edges: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> Vec<BTreeSet<&'a str>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        edges.keys().map(|file| (*file, reachable(file, edges))).collect();
    let mut found: Vec<BTreeSet<&str>> = Vec::new();
    for (file, reached) in &reach {
        let is_known = found.iter().any(|circle| circle.contains(file));
        if is_known || !reached.contains(file) {
            continue;
        }
        found.push(reached.iter().copied().filter(|other| reach[other].contains(file)).collect());
    }
    found
}

fn reachable<'a>(from: &str, edges: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = edges.get(from).into_iter().flatten().copied().collect();
    while let Some(file) = open.pop() {
        if reached.insert(file) {
            open.extend(edges.get(file).into_iter().flatten().copied());
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
