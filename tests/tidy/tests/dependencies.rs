//! Tests of `tidy::dependencies`.

use std::collections::BTreeSet;

use tidy::dependencies::{of_crate, of_workspace, rows, unused};

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn rows_hold_several_names() {
    assert_eq!(rows("| crate | what for |\n|---|---|\n| a, b-c | d |\n"), set(&["a", "b-c"]));
}

#[test]
fn manifests_are_read_in_all_their_sections() {
    let manifest = "[dependencies]\na.workspace = true\n[dev-dependencies]\nb = \"1\"\n[target.'cfg(unix)'.dependencies]\nc = \"1\"\n";
    assert_eq!(of_crate(&manifest.parse().unwrap()), set(&["a", "b", "c"]));
    let workspace = "[workspace.dependencies]\nours = { path = \"x\" }\ntheirs = \"1\"\n";
    assert_eq!(of_workspace(&workspace.parse().unwrap()), set(&["theirs"]));
}

#[test]
fn what_no_source_names_is_unused() {
    let sources = ["use a_b::C;".to_owned()];
    let manifest = "c.workspace = true # for its features\n";
    assert_eq!(unused(&set(&["a-b", "c", "d"]), manifest, &sources), ["d"]);
}
