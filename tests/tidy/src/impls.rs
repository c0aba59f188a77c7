//! Finds types whose inherent impls stand in many files. Such a type is split by file and not by boundary: each of its
//! methods, in whatever file, can reach each of its fields.

use std::collections::{BTreeMap, BTreeSet};

use crate::imports::Imports;

/// Maximum number of files with inherent impls of one type.
pub const IMPL_FILES_MAX: usize = 3;

/// The types of the crate `name` whose inherent impls stand in more than [`IMPL_FILES_MAX`] files, a sentence each.
///
/// `files` has the path of each source file in `src`, for example `machine/plan.rs`, with its text.
///
/// # Errors
/// A file is not valid Rust.
pub fn violations(name: &str, files: &BTreeMap<String, String>) -> Result<Vec<String>, syn::Error> {
    let imports = Imports::read(files)?;
    let mut found: BTreeMap<(&str, String), BTreeSet<&str>> = BTreeMap::new();
    for (file, defined_in, own) in imports.impls() {
        found.entry((defined_in, own)).or_default().insert(file);
    }
    let spread = found.into_iter().filter(|(_, files)| files.len() > IMPL_FILES_MAX);
    let sentence = |((_, own), files): ((&str, String), BTreeSet<&str>)| {
        format!(
            "{name}: impls of {own} stand in {} files, more than {IMPL_FILES_MAX}: give it a boundary, or what it does a function",
            files.len()
        )
    };
    Ok(spread.map(sentence).collect())
}
