//! Implements `cargo xtask test`: runs the tests that hold one crate, wherever they stand.
//!
//! A crate's own tests are unit tests, a test program of its package, or a module of the test program of its floor. Where tests of other
//! crates hold it, too, `held-by` in the `package.metadata` of its `Cargo.toml` names them: `"PROGRAM"`, or `"PROGRAM BEGIN BEGIN"` for tests
//! whose names begin so.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::suite::{cargo, cargo_output};

/// What all our packages but `firstlight` and `xtask` begin with.
const PREFIX: &str = "firstlight-";

/// Runs the tests of the crate `name`: its package's name with or without the prefix, its library's name, or its folder. With `filters`, only
/// those of its own tests whose names contain one of them.
///
/// # Errors
/// There is no such crate or no such test, or a test fails.
pub fn run(root: &Path, name: &str, filters: &[String]) -> Result<()> {
    let metadata = cargo_output(root, &["metadata", "--no-deps", "--offline", "--format-version", "1"])?;
    let metadata = serde_json::from_str(&metadata).context("cargo metadata is not JSON")?;
    let mut ran = 0;
    for tests in tests_of(&metadata, name, !filters.is_empty())? {
        let program: Vec<&str> =
            ["test"].into_iter().chain(tests.program.iter().map(String::as_str)).collect();
        let listed = cargo_output(root, &[&program[..], &["--", "--list", "--format", "terse"]].concat())?;
        let chosen = tests.choose(&listed, filters);
        if !chosen.is_empty() {
            ran += chosen.len();
            cargo(root, &[&program[..], &["--", "--exact"], &chosen].concat(), &[])?;
        }
    }
    ensure!(ran > 0, "no test of {name} has a name that contains one of {filters:?}");
    Ok(())
}

/// Tests of one program that hold a crate.
#[derive(Debug, PartialEq)]
pub struct Tests {
    /// The arguments of cargo that choose the program. It is chosen from the whole workspace, because a package alone has other features, for
    /// which cargo would build what it depends on a second time.
    pub program: Vec<String>,
    /// What their names begin with.
    begin: Vec<String>,
}

impl Tests {
    /// Returns the tests of a program whose names begin with one of these.
    pub fn of_program(name: &str, begin: &[&str]) -> Self {
        let program = ["--workspace", "--test", name].map(str::to_owned).to_vec();
        Self { program, begin: begin.iter().map(|name| (*name).to_owned()).collect() }
    }

    /// Returns the names of the tests that are meant, of those that the program lists.
    pub fn choose<'a>(&self, listed: &'a str, filters: &[String]) -> Vec<&'a str> {
        let names = listed.lines().filter_map(|line| line.strip_suffix(": test"));
        let rest = |name: &'a str| match self.begin.as_slice() {
            [] => Some(name),
            some => some.iter().find_map(|begin| name.strip_prefix(begin.as_str())),
        };
        let is_meant =
            |rest: &str| filters.is_empty() || filters.iter().any(|filter| rest.contains(filter.as_str()));
        names.filter(|name| rest(name).is_some_and(is_meant)).collect()
    }
}

/// Returns the tests that hold a crate; only its own with `only_own`.
///
/// # Errors
/// There is no such crate, several have this name, or no test holds it.
pub fn tests_of(metadata: &Value, name: &str, only_own: bool) -> Result<Vec<Tests>> {
    let crates = Crate::all(metadata);
    let meant: Vec<&Crate<'_>> = crates.iter().filter(|one| one.is_called(name)).collect();
    let meant = match meant.as_slice() {
        [one] => *one,
        [] => {
            bail!("no crate is called {name}: its package, its library or its folder, for example metal/bmc")
        }
        several => {
            let folders: Vec<&str> = several.iter().map(|one| one.folder).collect();
            bail!("several crates are called {name}: {}", folders.join(", "))
        }
    };
    let mut found = Vec::new();
    if meant.has_unit_tests() {
        let program = ["--package", meant.package, "--tests"].map(str::to_owned).to_vec();
        found.push(Tests { program, begin: Vec::new() });
    } else {
        found.extend(meant.programs().map(|name| Tests::of_program(name, &[])));
    }
    if let Some((floor, module)) = meant.module() {
        found.push(Tests::of_program(floor, &[&format!("{module}::")]));
    }
    let others = meant.value["metadata"]["held-by"].as_array().into_iter().flatten();
    for other in others.filter_map(Value::as_str).filter(|_| !only_own) {
        let (program, names) = other.split_once(' ').unwrap_or((other, ""));
        found.push(Tests::of_program(program, &names.split_whitespace().collect::<Vec<_>>()));
    }
    ensure!(!found.is_empty(), "no test holds {}", meant.package);
    Ok(found)
}

/// A package of the workspace.
struct Crate<'a> {
    value: &'a Value,
    package: &'a str,
    /// Its folder below the root of the workspace, for example `controllers/metal/bmc`.
    folder: &'a str,
}

impl<'a> Crate<'a> {
    fn all(metadata: &'a Value) -> Vec<Self> {
        let root = metadata["workspace_root"].as_str().unwrap_or_default();
        let packages = metadata["packages"].as_array().into_iter().flatten();
        let one = |value: &'a Value| {
            let manifest = value["manifest_path"].as_str()?.strip_prefix(root)?.trim_start_matches('/');
            Some(Self {
                value,
                package: value["name"].as_str()?,
                folder: manifest.strip_suffix("/Cargo.toml")?,
            })
        };
        packages.filter_map(one).collect()
    }

    fn is_called(&self, name: &str) -> bool {
        let library =
            self.targets("lib").filter_map(|target| target["name"].as_str()).any(|known| known == name);
        let folder = format!("/{}", self.folder).ends_with(&format!("/{}", name.trim_end_matches('/')));
        let package = self.package.strip_prefix(PREFIX).unwrap_or(self.package);
        // A name without a slash is that of a package first: `ipam` is a folder of two crates.
        self.package == name || package == name || library || (name.contains('/') && folder)
    }

    fn targets(&self, kind: &str) -> impl Iterator<Item = &'a Value> {
        let targets = self.value["targets"].as_array().into_iter().flatten();
        targets.filter(move |target| {
            target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|known| known == kind))
        })
    }

    fn has_unit_tests(&self) -> bool {
        ["lib", "bin"].iter().any(|kind| self.targets(kind).any(|target| target["test"] == true))
    }

    /// The names of its test programs.
    fn programs(&self) -> impl Iterator<Item = &'a str> {
        self.targets("test").filter_map(|target| target["name"].as_str())
    }

    /// The test program of its floor, and the name of its module there.
    fn module(&self) -> Option<(&'a str, String)> {
        let (floor, rest) = self.folder.split_once('/')?;
        let root =
            self.value["manifest_path"].as_str()?.strip_suffix(&format!("{}/Cargo.toml", self.folder))?;
        let main = std::fs::read_to_string(Path::new(root).join(floor).join("tests/main.rs")).ok()?;
        main.contains(&format!("\"../{rest}/tests/")).then_some((floor, rest.replace('/', "_")))
    }
}
