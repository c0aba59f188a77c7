//! Rules for dependencies: each must be used and have a row in docs/dependencies.md.

use std::collections::BTreeSet;

/// The crates in the first column of the table in docs/dependencies.md.
pub fn rows(page: &str) -> BTreeSet<String> {
    let rows =
        page.lines().filter_map(|line| line.strip_prefix("| ")).filter(|line| !line.starts_with("crate |"));
    let cells = rows.filter_map(|line| line.split(" |").next());
    cells.flat_map(|cell| cell.split(", ")).map(|name| name.trim().to_owned()).collect()
}

/// The external dependencies in a workspace manifest, which are those without a path.
pub fn of_workspace(manifest: &toml::Table) -> BTreeSet<String> {
    let table = manifest
        .get("workspace")
        .and_then(|workspace| workspace.get("dependencies"))
        .and_then(|table| table.as_table());
    let foreign = table.into_iter().flatten().filter(|(_, value)| value.get("path").is_none());
    foreign.map(|(name, _)| name.clone()).collect()
}

/// The dependencies in the manifest of a crate, including those of tests, of build scripts and of specific
/// targets.
pub fn of_crate(manifest: &toml::Table) -> BTreeSet<String> {
    const SECTIONS: &[&str] = &["dependencies", "dev-dependencies", "build-dependencies"];
    let targets = manifest.get("target").and_then(|target| target.as_table());
    let tables = targets.into_iter().flatten().filter_map(|(_, table)| table.as_table()).chain([manifest]);
    let sections =
        tables.flat_map(|table| SECTIONS.iter().filter_map(|section| table.get(*section)?.as_table()));
    sections.flat_map(|section| section.keys().cloned()).collect()
}

/// The dependencies that no source file uses.
///
/// A dependency that only enables a feature of another one must have the comment `# for its features` in the
/// manifest.
pub fn unused(dependencies: &BTreeSet<String>, manifest: &str, sources: &[String]) -> Vec<String> {
    let is_named = |name: &str| {
        // The library of the package `md-5` is named `md5`.
        let name = if name == "md-5" { "md5".to_owned() } else { name.replace('-', "_") };
        sources.iter().any(|text| words(text).any(|word| word == name))
    };
    let only_features = |name: &str| {
        manifest.lines().any(|line| line.starts_with(name) && line.contains("# for its features"))
    };
    dependencies.iter().filter(|name| !is_named(name) && !only_features(name)).cloned().collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// The features of other crates that a section of a crate's manifest asks for, as `(crate, feature)`.
pub fn features(manifest: &toml::Table, section: &str) -> BTreeSet<(String, String)> {
    let dependencies = manifest.get(section).and_then(|section| section.as_table()).into_iter().flatten();
    let features = dependencies.flat_map(|(name, value)| {
        let features = value.get("features").and_then(|features| features.as_array()).into_iter().flatten();
        features.filter_map(|feature| Some((name.clone(), feature.as_str()?.to_owned())))
    });
    features.collect()
}
