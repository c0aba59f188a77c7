//! Checks the workspace against docs/ARCHITECTURE.md and docs/architecture, and the pages against the workspace.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The top-level folders in docs/ARCHITECTURE.md.
const TOP_FOLDERS: &[&str] =
    &["apiserver", "bootstrap", "controllers", "docs", "examples", "schemas", "tests", "target"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("tests/tidy stands two folders down")
        .to_owned()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder").flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        // Cargo builds in `target` beside a manifest; a module can have that name, too.
        let is_built = name == "target" && folder.join("Cargo.toml").exists();
        if path.is_dir() && !is_built && !name.starts_with('.') {
            sources(&path, found);
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
}

#[test]
fn sources_are_tidy() {
    let mut files = Vec::new();
    sources(&root(), &mut files);
    files.sort();
    let mut found = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(file).expect("a readable source");
        let path = file.strip_prefix(root()).expect("below the root").display().to_string();
        found.extend(tidy::sources::violations(&path, &text));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The output of `cargo metadata`.
fn metadata(arguments: &[&str]) -> serde_json::Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1"])
        .args(arguments)
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON")
}

#[test]
fn dependencies_are_free_and_from_crates_io() {
    let deny = std::fs::read_to_string(root().join("deny.toml")).expect("deny.toml");
    let rules = tidy::foreign::rules(&deny.parse().expect("deny.toml is TOML"));
    let found = tidy::foreign::violations(&rules, &metadata(&["--all-features", "--locked"]));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn dependencies_point_downwards() {
    let metadata = metadata(&["--no-deps", "--offline"]);
    let (edges, rooms) = tidy::edges::workspace_edges(&metadata);
    assert!(!edges.is_empty());
    let found = tidy::edges::violations(&edges, &rooms);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_map_names_every_crate_and_no_other_folder_stands_at_the_top() {
    let map = read(&root().join("docs/ARCHITECTURE.md"));
    let floors = std::fs::read_dir(root().join("docs/architecture")).expect("docs/architecture").flatten();
    let floors: Vec<String> = floors.map(|entry| read(&entry.path())).collect();
    let metadata = metadata(&["--no-deps", "--offline"]);
    let members = metadata["packages"].as_array().expect("packages").iter();
    let mut folders: Vec<String> = members
        .map(|package| Path::new(package["manifest_path"].as_str().expect("a path")).with_file_name(""))
        .map(|folder| folder.strip_prefix(root()).expect("below the root").display().to_string())
        .map(|folder| folder.trim_end_matches('/').to_owned())
        .collect();
    folders.sort();
    let mut missing = tidy::map::violations(&map, &folders, &floors);
    for entry in std::fs::read_dir(root()).expect("the root").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() && !name.starts_with('.') && !TOP_FOLDERS.contains(&name.as_str()) {
            missing.push(format!("a folder at the top that the map does not have: {name}"));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn the_api_server_knows_nothing_of_cluster_api() {
    let mut files = Vec::new();
    sources(&root().join("apiserver"), &mut files);
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !file.components().any(|part| part.as_os_str() == "tests")) {
        let text = std::fs::read_to_string(file).expect("a readable source");
        if text.contains("cluster.x-k8s.io") {
            found.push(file.display().to_string());
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Each file directly in the `tests` of a crate is a program of the package, a module of the program of its floor, or a module of
/// `tests/main.rs`, which is itself one of these. A file that is none of them is never compiled.
#[test]
fn every_test_file_is_part_of_a_program() {
    let (mut files, mut found) = (0, Vec::new());
    for manifest in git_files("*Cargo.toml") {
        let text = read(&root().join(&manifest));
        let folder = root().join(&manifest).with_file_name("tests");
        if !text.contains("autotests = false") || !folder.is_dir() {
            continue;
        }
        let (floor, rest) = manifest.split_once('/').unwrap_or_default();
        let floor = root().join(floor).join("tests/main.rs");
        let floor = if floor.exists() { read(&floor) } else { String::new() };
        let rest = rest.trim_end_matches("Cargo.toml");
        let main =
            if folder.join("main.rs").exists() { read(&folder.join("main.rs")) } else { String::new() };
        for file in std::fs::read_dir(&folder).expect("a readable folder").flatten() {
            let name = file.file_name().to_string_lossy().into_owned();
            let Some(stem) = name.strip_suffix(".rs") else { continue };
            files += 1;
            let is_program = text.contains(&format!("\"tests/{name}\""))
                || text.contains(&format!("[[test]]\nname = \"{stem}\""));
            let is_of_floor = floor.contains(&format!("\"../{rest}tests/{name}\""));
            if !is_program && !is_of_floor && !main.contains(&format!("mod {stem};")) {
                found.push(format!("{} is in no test program", file.path().display()));
            }
        }
    }
    assert!(files > 0);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The most test programs of the workspace: each contains the whole of what it tests, and is linked for itself.
const TEST_PROGRAMS: usize = 14;

#[test]
fn test_programs_are_few() {
    let metadata = metadata(&["--no-deps", "--offline"]);
    let packages = metadata["packages"].as_array().expect("packages").iter();
    let targets = packages.flat_map(|package| package["targets"].as_array().expect("targets"));
    let programs = targets.filter(|target| target["test"] == true).count();
    assert!(programs <= TEST_PROGRAMS, "{programs} test programs, more than {TEST_PROGRAMS}");
}

/// Unit tests of a library or program with `test = false` would never run.
#[test]
fn no_unit_test_is_switched_off() {
    let mut found = Vec::new();
    for folder in crates() {
        let manifest = manifest(&folder);
        let is_off = |target: &toml::Value| target.get("test").and_then(toml::Value::as_bool) == Some(false);
        let (source, mut files) = (folder.join("src"), Vec::new());
        if manifest.get("lib").is_some_and(is_off) {
            sources(&source, &mut files);
        }
        let programs = manifest.get("bin").and_then(toml::Value::as_array).into_iter().flatten();
        let paths = programs.filter(|program| is_off(program)).filter_map(|program| program["path"].as_str());
        files.extend(paths.map(|path| folder.join(path)));
        let has_tests = |text: String| text.contains("#[test]") || text.contains("#[tokio::test");
        found.extend(files.into_iter().filter(|file| has_tests(read(file))));
    }
    assert!(found.is_empty(), "{found:?}");
}

/// An example in the documentation of a library with `doctest = false` would never be compiled.
#[test]
fn no_example_of_the_documentation_is_switched_off() {
    let mut found = Vec::new();
    for folder in crates() {
        let manifest = manifest(&folder);
        let is_off = manifest.get("lib").and_then(|library| library.get("doctest")?.as_bool()) == Some(false);
        let mut files = Vec::new();
        if is_off {
            sources(&folder.join("src"), &mut files);
        }
        found.extend(files.into_iter().filter(|file| has_example(&read(file))));
    }
    assert!(found.is_empty(), "{found:?}");
}

/// Returns whether a doc comment has a block of code that is not marked as text.
fn has_example(source: &str) -> bool {
    let fences = source.lines().filter_map(|line| {
        let line = line.trim_start();
        let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
        comment.trim_start().strip_prefix("```")
    });
    fences.step_by(2).any(|language| !language.starts_with("text"))
}

/// All folders with their own manifest.
fn crates() -> Vec<PathBuf> {
    git_files("*/Cargo.toml").iter().map(|path| root().join(path).with_file_name("")).collect()
}

fn manifest(folder: &Path) -> toml::Table {
    read(&folder.join("Cargo.toml")).parse().expect("TOML")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The name of each crate, which is its folder, with the texts of its sources by their path in `src`.
fn sources_of_crates() -> impl Iterator<Item = (String, BTreeMap<String, String>)> {
    crates().into_iter().map(|folder| {
        let source = folder.join("src");
        let mut files = Vec::new();
        if source.is_dir() {
            sources(&source, &mut files);
        }
        let texts = files.iter().map(|file| {
            let path = file.strip_prefix(&source).expect("below src").display().to_string();
            (path, read(file))
        });
        let name = folder.strip_prefix(root()).expect("below the root").display().to_string();
        (name.trim_end_matches('/').to_owned(), texts.collect())
    })
}

#[test]
fn no_circle_of_imports_leaves_its_folder() {
    let found: Vec<String> = sources_of_crates()
        .flat_map(|(name, texts)| tidy::circles::violations(&name, &texts).expect("Rust"))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn impls_of_a_type_stand_in_few_files() {
    let found: Vec<String> = sources_of_crates()
        .flat_map(|(name, texts)| tidy::impls::violations(&name, &texts).expect("Rust"))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn each_dependency_has_its_row_and_its_use() {
    let manifest = manifest(&root());
    let declared = tidy::dependencies::of_workspace(&manifest);
    let rows = tidy::dependencies::rows(&read(&root().join("docs/dependencies.md")));
    let mut found: Vec<String> = Vec::new();
    found.extend(declared.difference(&rows).map(|name| format!("{name} has no row in docs/dependencies.md")));
    found.extend(
        rows.difference(&declared)
            .map(|name| format!("docs/dependencies.md has a row for {name}, which is no dependency")),
    );
    let mut taken = BTreeSet::new();
    for folder in crates() {
        let text = read(&folder.join("Cargo.toml"));
        let dependencies = tidy::dependencies::of_crate(&text.parse().expect("TOML"));
        let mut files = Vec::new();
        sources(&folder, &mut files);
        // The modules of a floor's test program stand beside the sources of its crates.
        let main = folder.join("main.rs");
        let main = if main.exists() { read(&main) } else { String::new() };
        let modules = main.lines().filter_map(|line| line.strip_prefix("#[path = \"")?.strip_suffix("\"]"));
        modules.for_each(|module| sources(&folder.join(module).with_file_name(""), &mut files));
        let texts: Vec<String> = files.iter().map(|file| read(file)).collect();
        for name in tidy::dependencies::unused(&dependencies, &text, &texts) {
            found.push(format!("{}: {name} is not used", folder.display()));
        }
        if dependencies.contains("kube") && !dependencies.contains("k8s-openapi") {
            found.push(format!(
                "{}: cargo cannot build it alone, because kube needs a feature of k8s-openapi",
                folder.display()
            ));
        }
        taken.extend(dependencies);
    }
    found.extend(declared.difference(&taken).map(|name| format!("no crate depends on {name}")));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// If only tests used a feature of a crate, cargo would build everything that depends on it once for tests and once for programs.
#[test]
fn no_feature_is_used_by_tests_alone() {
    let manifests: Vec<toml::Table> = crates().iter().map(|folder| manifest(folder)).collect();
    let in_section =
        |section| manifests.iter().flat_map(move |one| tidy::dependencies::features(one, section));
    let (of_programs, of_tests): (BTreeSet<_>, BTreeSet<_>) =
        (in_section("dependencies").collect(), in_section("dev-dependencies").collect());
    let alone: Vec<_> = of_tests.difference(&of_programs).collect();
    assert!(
        alone.is_empty(),
        "only dev-dependencies have these features, which the workspace should have: {alone:?}"
    );
}

#[test]
fn pages_name_what_is_there_and_say_it_once() {
    let crates = crates();
    // In a page, the path of a crate's file begins with the crate's last folder, for example
    // `store/tests/bounds.rs`.
    let crates_of = |name: &str| {
        crates.iter().filter(|folder| folder.file_name().is_some_and(|last| last == name)).collect::<Vec<_>>()
    };
    let mut found = Vec::new();
    for page in &git_files("*.md") {
        let text = read(&root().join(page));
        found.extend(tidy::pages::repeated_lines(page, &text));
        let is_folder = |name: &str| TOP_FOLDERS.contains(&name) || !crates_of(name).is_empty();
        for (line, path) in tidy::pages::named_paths(&text, is_folder) {
            let (first, rest) = path.split_once('/').expect("a path");
            let in_crate = crates_of(first)
                .iter()
                .any(|folder| folder.join(rest).exists() || folder.join("src").join(rest).exists());
            if !in_crate && !root().join(&path).exists() {
                found.push(format!("{page}:{line}: {path} does not exist"));
            }
        }
        // A test includes tests/conformance/clients.md in docs/conformance.md.
        let stands_in =
            if page == "tests/conformance/clients.md" { "docs/conformance.md" } else { page.as_str() };
        let folder = root().join(stands_in).with_file_name("");
        for (line, target) in tidy::pages::links(&text) {
            if !folder.join(&target).exists() {
                found.push(format!("{page}:{line}: the link to {target} leads nowhere"));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The pages, and the folder of pages, whose tables somebody reads in a terminal, too.
const TABLES_IN_COLUMNS: &[&str] = &[
    "README.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "docs/ARCHITECTURE.md",
    "docs/RELIABILITY.md",
    "docs/architecture/",
    "docs/commands.md",
];

/// Pages that are written from lists whose lines are sentences.
const WRITTEN_PAGES: &[&str] = &["docs/conformance.md", "tests/conformance/clients.md"];

#[test]
fn pages_fit_a_terminal() {
    let pages = git_files("*.md");
    let is_written = |page: &str| WRITTEN_PAGES.contains(&page) || page.contains("/data/");
    let chosen: Vec<&String> = pages.iter().filter(|page| !is_written(page)).collect();
    assert!(chosen.len() > TABLES_IN_COLUMNS.len(), "{chosen:?}");
    let has_narrow_tables = |page: &str| TABLES_IN_COLUMNS.iter().any(|name| page.starts_with(name));
    let found: Vec<String> = chosen
        .into_iter()
        .flat_map(|page| tidy::pages::long_lines(page, &read(&root().join(page)), has_narrow_tables(page)))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The pages that say which test holds a promise or a rule.
const PAGES_OF_TESTS: &[&str] = &["docs/RELIABILITY.md", "docs/controllers.md"];

#[test]
fn pages_name_sources_and_tests_that_exist() {
    let crates = crates();
    let mut found = Vec::new();
    for page in &git_files("*.md") {
        let text = read(&root().join(page));
        let is_of_tests = PAGES_OF_TESTS.contains(&page.as_str());
        for reference in tidy::references::of(&text) {
            let place = format!("{page}:{}", reference.line);
            let files: Vec<PathBuf> = tidy::pages::alternatives(&reference.path)
                .iter()
                .flat_map(|path| files_of(path, &crates))
                .collect();
            let texts: Vec<String> = files.iter().map(|file| read(file)).collect();
            if files.is_empty() && is_of_tests {
                found.push(format!("{place}: {} does not exist", reference.path));
            }
            // In other pages a single word behind a path is a word.
            let counts = |name: &&String| is_of_tests || name.contains('_');
            for name in reference.functions.iter().filter(counts).filter(|_| !files.is_empty()) {
                let has =
                    if is_of_tests { tidy::references::has_test } else { tidy::references::has_function };
                if !texts.iter().any(|text| has(text, name)) {
                    found.push(format!("{place}: {} has no test {name}", reference.path));
                }
            }
        }
        if is_of_tests {
            let alone = tidy::references::without_a_path(&text);
            found.extend(
                alone.into_iter().map(|(line, name)| format!("{page}:{line}: {name} stands behind no path")),
            );
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The Rust files that a path of a page may mean: below the root, or below a crate with the name of its first part.
fn files_of(path: &str, crates: &[PathBuf]) -> Vec<PathBuf> {
    let (first, rest) = path.split_once('/').expect("a path");
    let of_crates = crates.iter().filter(|folder| folder.file_name().is_some_and(|last| last == first));
    let below = of_crates.flat_map(|folder| [folder.join(rest), folder.join("src").join(rest)]);
    std::iter::once(root().join(path)).chain(below).filter(|file| file.is_file()).collect()
}

/// The files of the repository that match a pattern.
fn git_files(pattern: &str) -> Vec<String> {
    let listed =
        Command::new("git").args(["ls-files", pattern]).current_dir(root()).output().expect("git runs");
    String::from_utf8_lossy(&listed.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn each_limit_has_its_metric_or_a_reason() {
    let mut files = Vec::new();
    for room in ["apiserver", "controllers", "bootstrap"] {
        sources(&root().join(room), &mut files);
    }
    files.retain(|file| file.components().any(|part| part.as_os_str() == "src"));
    let texts: Vec<String> = files.iter().map(|file| read(file)).collect();
    let page = read(&root().join("docs/metrics.md"));
    let mut found = Vec::new();
    let mut count = 0;
    for file in files.iter().filter(|file| file.ends_with("src/limits.rs")) {
        let folder = file.ancestors().nth(2).expect("a crate").strip_prefix(root()).expect("below the root");
        // This file of the crate `metrics` has the counter, and no limits.
        if !tidy::limits::constants(&read(file)).is_empty() {
            count += 1;
            found.extend(tidy::limits::violations(&folder.display().to_string(), &read(file), &page, &texts));
        }
    }
    assert!(found.is_empty() && count > 0, "{}", found.join("\n"));
}
