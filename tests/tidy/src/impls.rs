//! Finds types whose inherent impls stand in many files. Such a type is split by file and not by boundary: each of its
//! methods, in whatever file, can reach each of its fields.

use std::collections::{BTreeMap, BTreeSet};

use crate::imports::Imports;

/// Maximum number of files with inherent impls of one type.
pub const IMPL_FILES_MAX: usize = 3;

/// The types whose inherent impls stand in more than [`IMPL_FILES_MAX`] files, by crate and name, with the number of
/// files. Of several types with one name, the one with the most files counts.
///
/// `files` has the path of each source file in `src`, for example `machine/plan.rs`, with its text.
///
/// # Errors
/// A file is not valid Rust.
pub fn spread(
    name: &str,
    files: &BTreeMap<String, String>,
) -> Result<BTreeMap<(String, String), usize>, syn::Error> {
    let imports = Imports::read(files)?;
    let mut found: BTreeMap<(&str, String), BTreeSet<&str>> = BTreeMap::new();
    for (file, defined_in, own) in imports.impls() {
        found.entry((defined_in, own)).or_default().insert(file);
    }
    let mut spread = BTreeMap::new();
    for ((_, own), files) in found.into_iter().filter(|(_, files)| files.len() > IMPL_FILES_MAX) {
        let count: &mut usize = spread.entry((name.to_owned(), own)).or_default();
        *count = files.len().max(*count);
    }
    Ok(spread)
}

/// The differences between the types that are `spread` today and those that are `known` to be. A known number may only
/// fall.
pub fn violations(
    spread: &BTreeMap<(String, String), usize>,
    known: &BTreeMap<(String, String), usize>,
) -> Vec<String> {
    let mut found = Vec::new();
    for ((name, own), count) in spread {
        let most = known.get(&(name.clone(), own.clone())).copied().unwrap_or(IMPL_FILES_MAX);
        if *count > most {
            found.push(format!(
                "{name}: impls of {own} stand in {count} files, more than {most}: give it a boundary, or what it does a function"
            ));
        }
    }
    for ((name, own), most) in known {
        let count = spread.get(&(name.clone(), own.clone())).copied();
        match count {
            Some(count) if count >= *most => {}
            Some(count) => {
                found.push(format!("{name}: impls of {own} stand in {count} files now, not in {most}"))
            }
            None => {
                found.push(format!("{name}: impls of {own} no longer stand in many files: strike its row"))
            }
        }
    }
    found
}
