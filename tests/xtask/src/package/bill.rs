//! The list of all crates in the program (SBOM), in CycloneDX 1.5.
//!
//! `cargo tree` gives the crates with the features of the build; `cargo metadata` would give those of all packages of the workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::program::Program;
use super::tools::{digest, output_of};

/// The packages in the program: the server, and the agent, which is a separate program inside it.
const PACKAGES: &[&str] = &["firstlight", "firstlight-agent"];

/// A crate by name and version.
type Key = (String, String);

/// What `cargo tree` says of the crates.
#[derive(Default)]
pub struct Crates {
    /// The licence and the repository of each crate; empty if its manifest has none.
    pub known: BTreeMap<Key, (String, String)>,
    /// The crates that each crate depends on.
    pub edges: BTreeMap<Key, BTreeSet<Key>>,
}

/// Returns the list for a program that was built from the workspace in `root`.
///
/// # Errors
/// cargo fails, or `Cargo.lock` cannot be read.
pub fn of(root: &Path, program: &Program) -> Result<Value> {
    let mut crates = Crates::default();
    for package in PACKAGES {
        crates.read(&tree(root, package, &["--edges=no-dev", "--prefix=depth", "--format={p}|{l}|{r}"])?)?;
    }
    let lock = std::fs::read_to_string(root.join("Cargo.lock")).context("cannot read Cargo.lock")?;
    let checksums = checksums(&lock)?;
    let top = (PACKAGES[0].to_owned(), program.version.clone());
    let libraries = crates.known.iter().filter(|(key, _)| **key != top);
    let components: Vec<Value> =
        libraries.map(|(key, told)| component(key, told, checksums.get(key))).collect();
    let dependencies = crates.known.keys().map(|key| {
        let on: Vec<String> = crates.edges.get(key).into_iter().flatten().map(reference).collect();
        json!({"ref": reference(key), "dependsOn": on})
    });
    Ok(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {
            "type": "application",
            "bom-ref": reference(&top),
            "name": top.0,
            "version": top.1,
            "licenses": [{"expression": env!("CARGO_PKG_LICENSE")}],
            "hashes": [{"alg": "SHA-256", "content": digest(&program.path)?}],
        }},
        "components": components,
        "dependencies": dependencies.collect::<Vec<Value>>(),
    }))
}

/// Prints the dependencies of a package as a tree.
pub fn tree(root: &Path, package: &str, options: &[&str]) -> Result<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut tree = Command::new(cargo);
    tree.args(["tree", "--locked", "--package", package]).args(options).current_dir(root);
    // With the features of the whole workspace, the tree would have crates that only tests use.
    output_of(tree.env_remove("CARGO_RESOLVER_FEATURE_UNIFICATION"))
}

impl Crates {
    /// Reads lines like `2tokio v1.50.0|MIT|https://github.com/tokio-rs/tokio`, whose number is the depth in the tree.
    pub fn read(&mut self, tree: &str) -> Result<()> {
        let mut path: Vec<Key> = Vec::new();
        for line in tree.lines() {
            let failed = || format!("`cargo tree` printed {line:?}");
            let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let depth: usize = line[..digits].parse().with_context(failed)?;
            let mut fields = line[digits..].trim_end_matches(" (*)").split('|');
            let mut words = fields.next().unwrap_or_default().split(' ');
            let (name, version) = words.next().zip(words.next()).with_context(failed)?;
            let key = (name.to_owned(), version.trim_start_matches('v').to_owned());
            path.truncate(depth);
            if let Some(parent) = path.last() {
                self.edges.entry(parent.clone()).or_default().insert(key.clone());
            }
            let text = |field: Option<&str>| field.unwrap_or_default().to_owned();
            self.known.insert(key.clone(), (text(fields.next()), text(fields.next())));
            path.push(key);
        }
        Ok(())
    }
}

/// The checksums of the crates in `Cargo.lock`. Crates of the workspace have none.
fn checksums(lock: &str) -> Result<BTreeMap<Key, String>> {
    let lock: toml::Table = lock.parse().context("Cargo.lock is not TOML")?;
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let text = |package: &toml::Value, field: &str| Some(package.get(field)?.as_str()?.to_owned());
    let all = packages.into_iter().flatten().filter_map(|package| {
        Some(((text(package, "name")?, text(package, "version")?), text(package, "checksum")?))
    });
    Ok(all.collect())
}

/// Returns the entry of a crate in the list.
pub fn component(key: &Key, (licence, repository): &(String, String), checksum: Option<&String>) -> Value {
    let mut component =
        json!({"type": "library", "bom-ref": reference(key), "name": key.0, "version": key.1});
    if !licence.is_empty() {
        // The form with a slash is older than SPDX's.
        component["licenses"] = json!([{"expression": licence.replace('/', " OR ")}]);
    }
    if !repository.is_empty() {
        component["externalReferences"] = json!([{"type": "vcs", "url": repository}]);
    }
    if let Some(checksum) = checksum {
        component["purl"] = format!("pkg:cargo/{}@{}", key.0, key.1).into();
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    component
}

fn reference((name, version): &Key) -> String {
    format!("{name}@{version}")
}
