//! Implements `cargo xtask schemas`: generates Rust types and CustomResourceDefinitions from schema files.
//!
//! Sources in `schemas/`:
//! - `types/<module>/<file>.yaml`: named types. Each is a structural schema with descriptions. An object
//!   inside a type is `{$ref: <type>}`, and keys next to the reference apply only there. The key `x-rust`
//!   names an existing Rust type that is used instead of a generated one: its path, or the name of a type of
//!   the prelude, for example `String` for text with a pattern.
//! - `crds/<plural>.<group>.yaml`: names, labels, annotations, columns and subresources of a kind, and references
//!   to its types.
//! - `older/<version>/<plural>.<group>.yaml`: an older version of a kind, whole: columns, subresources and structure.
//!   No Rust types are generated for it, since only `conversion` handles it. Descriptions are needed only for fields that
//!   the newest version does not have.
//! - `older/types/<file>.yaml`: named types that only older versions have.
//!
//! Generated files: `src/<module>/<file>.rs`, `src/<module>/mod.rs` and
//! `manifests/<plural>.<group>.json`.

mod crd;
mod names;
mod rust;
mod source;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

/// Generates all files; with `check`, only compares them with the existing ones.
pub fn run(root: &Path, check: bool) -> anyhow::Result<()> {
    let folder = root.join("schemas");
    let source = source::Source::read(&folder)?;
    let mut files: BTreeMap<PathBuf, String> = BTreeMap::new();
    for (path, text) in rust::files(&source)? {
        let text = format(&text, root).with_context(|| format!("formatting {path}"))?;
        files.insert(folder.join("src").join(path), text);
    }
    for (path, text) in crd::files(&source)? {
        files.insert(folder.join("manifests").join(path), text);
    }
    let changed: Vec<_> = files
        .iter()
        .filter(|(path, text)| std::fs::read_to_string(path).ok().as_ref() != Some(*text))
        .collect();
    if check {
        if let Some((path, _)) = changed.first() {
            bail!("{} is not what its source says: run `cargo xtask schemas`", path.display());
        }
        return Ok(());
    }
    for (path, text) in changed {
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

/// Formats `text` by rustfmt with the settings of the workspace.
fn format(text: &str, root: &Path) -> anyhow::Result<String> {
    use std::io::Write as _;
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--emit", "stdout", "--config-path"])
        .arg(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("starting rustfmt")?;
    child.stdin.take().context("rustfmt has no input")?.write_all(text.as_bytes())?;
    let output = child.wait_with_output()?;
    if !output.status.success() {
        bail!("rustfmt failed on:\n{text}");
    }
    Ok(String::from_utf8(output.stdout)?)
}
