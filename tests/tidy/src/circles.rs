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
