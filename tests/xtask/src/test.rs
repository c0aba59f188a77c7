//! Implements `cargo xtask test`: runs the tests that hold one crate, wherever they stand.
//!
//! A crate's own tests are unit tests, a test program of its package, or a module of the test program of its floor. Where tests of other
//! crates hold it, too, `held-by` in the `package.metadata` of its `Cargo.toml` names them: `"PROGRAM"` or `"PROGRAM NAME NAME"`.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::suite::cargo;

/// What all our packages but `firstlight` and `xtask` begin with.
const PREFIX: &str = "firstlight-";

/// Runs the tests of the crate `name`: its package's name with or without the prefix, its library's name, or its folder. Of its own tests only
/// those whose names contain one of `filters` run, if there are any.
///
/// # Errors
/// There is no such crate, or a test fails.
pub fn run(root: &Path, name: &str, filters: &[String]) -> Result<()> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root)
        .output()
        .context("cargo metadata cannot be run")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata = serde_json::from_slice(&output.stdout).context("cargo metadata is not JSON")?;
    for arguments in commands(&metadata, name, filters)? {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        cargo(root, &arguments, &[])?;
    }
    Ok(())
}

/// The arguments of cargo that run the tests of a crate, one list for each run.
///
/// # Errors
/// There is no such crate, several have this name, or no test holds it.
fn commands(metadata: &Value, name: &str, filters: &[String]) -> Result<Vec<Vec<String>>> {
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
    let own = filters.iter().map(String::as_str);
    let mut found = Vec::new();
    if meant.has_unit_tests() {
        found.push(arguments(&["--package", meant.package], own));
    } else {
        found.extend(meant.programs().map(|name| arguments(&["--workspace", "--test", name], own.clone())));
    }
    if let Some((floor, module)) = meant.module(&crates) {
        let prefix = format!("{module}::");
        let names: Vec<String> = match filters {
            [] => vec![prefix],
            some => some.iter().map(|filter| format!("{prefix}{filter}")).collect(),
        };
        found.push(arguments(&["--workspace", "--test", floor], names.iter().map(String::as_str)));
    }
    let others = meant.value["metadata"]["held-by"].as_array().into_iter().flatten();
    for other in others.filter_map(Value::as_str).filter(|_| filters.is_empty()) {
        let (program, names) = other.split_once(' ').unwrap_or((other, ""));
        found.push(arguments(&["--workspace", "--test", program], names.split_whitespace()));
    }
    ensure!(!found.is_empty(), "no test holds {}", meant.package);
    Ok(found)
}

/// The arguments of a run. Programs are chosen from the whole workspace, because a package alone has other features, for which cargo would
/// build what they depend on a second time.
fn arguments<'a>(what: &[&'a str], names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let what = what.iter().copied();
    ["test"].into_iter().chain(what).chain(["--"]).chain(names).map(str::to_owned).collect()
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
    fn module(&self, crates: &[Crate<'a>]) -> Option<(&'a str, String)> {
        let (floor, rest) = self.folder.split_once('/')?;
        let tests = crates.iter().find(|one| one.folder == format!("{floor}/tests"))?;
        let root =
            self.value["manifest_path"].as_str()?.strip_suffix(&format!("{}/Cargo.toml", self.folder))?;
        let main = std::fs::read_to_string(Path::new(root).join(tests.folder).join("main.rs")).ok()?;
        main.contains(&format!("\"../{rest}/tests/")).then_some((floor, rest.replace('/', "_")))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::commands;

    /// A workspace in `root` with a floor whose program has a module for `metal/bmc`.
    fn workspace(root: &std::path::Path) -> Value {
        let floor = root.join("controllers/tests");
        std::fs::create_dir_all(&floor).unwrap();
        let main = "#[path = \"../metal/bmc/tests/main.rs\"]\nmod metal_bmc;\n";
        std::fs::write(floor.join("main.rs"), main).unwrap();
        let package = |name: &str, folder: &str, kind: &str, test: bool, held_by: Value| {
            json!({
                "name": name,
                "manifest_path": root.join(folder).join("Cargo.toml"),
                "metadata": {"held-by": held_by},
                "targets": [{"kind": [kind], "name": folder.rsplit('/').next(), "test": test}],
            })
        };
        json!({"workspace_root": root, "packages": [
            package("firstlight-bmc", "controllers/metal/bmc", "lib", false, json!(["redfish faults"])),
            package("firstlight-controllers-tests", "controllers/tests", "test", true, json!([])),
            package("firstlight-tidy", "tests/tidy", "lib", true, json!([])),
            package("firstlight-pivot-tests", "tests/pivot", "test", true, json!([])),
            package("firstlight-store", "apiserver/store", "lib", false, json!([])),
        ]})
    }

    #[test]
    fn the_tests_of_a_crate_are_found_wherever_they_stand() {
        let root = tempfile::tempdir().unwrap();
        let workspace = workspace(root.path());
        let bmc = [
            "test --workspace --test controllers -- metal_bmc::",
            "test --workspace --test redfish -- faults",
        ];
        let cases: [(&str, &[&str], &[&str]); 7] = [
            ("bmc", &[], &bmc),
            ("firstlight-bmc", &[], &bmc),
            ("metal/bmc", &[], &bmc),
            ("controllers/metal/bmc/", &[], &bmc),
            ("bmc", &["ipmi"], &["test --workspace --test controllers -- metal_bmc::ipmi"]),
            ("tidy", &["map"], &["test --package firstlight-tidy -- map"]),
            ("pivot-tests", &[], &["test --workspace --test pivot --"]),
        ];
        for (name, filters, expected) in cases {
            let filters: Vec<String> = filters.iter().map(|filter| (*filter).to_owned()).collect();
            let found = commands(&workspace, name, &filters).unwrap();
            let found: Vec<String> = found.iter().map(|one| one.join(" ")).collect();
            assert_eq!(found, expected, "{name}");
        }
        for (name, error) in
            [("redfish", "no crate is called redfish"), ("store", "no test holds firstlight-store")]
        {
            let found = commands(&workspace, name, &[]).unwrap_err().to_string();
            assert!(found.starts_with(error), "{found}");
        }
    }
}
