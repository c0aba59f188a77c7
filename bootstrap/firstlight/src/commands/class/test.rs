//! `class test`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;

use super::served::{Kinds, Refusal};
use super::{difference, manifests};
use crate::manifests::read::read_all;
use crate::output::{say, tell};

/// Options of `class test`.
#[derive(Debug, Args)]
pub struct TestOptions {
    /// File or folder with the ClusterClass and its templates; can be repeated
    #[arg(short = 'f', long = "filename", value_name = "FILE", required = true)]
    pub filename: Vec<PathBuf>,
    /// The cases: folders with cluster.yaml, and expected.yaml or error.txt
    #[arg(value_name = "CASE", required = true)]
    pub cases: Vec<PathBuf>,
    /// Write what is rendered to expected.yaml, and errors to error.txt, instead of comparing
    #[arg(long)]
    pub update: bool,
}

const CLUSTER: &str = "cluster.yaml";
const EXPECTED: &str = "expected.yaml";
const ERROR: &str = "error.txt";

/// Runs `class test`.
///
/// # Errors
/// A case fails, or a file of it cannot be read or written.
pub fn run(options: &TestOptions) -> Result<()> {
    let kinds = Kinds::read()?;
    let class = manifests::read(&kinds, &options.filename)?;
    let mut failed = 0;
    for case in &options.cases {
        let outcome = rendered(&kinds, &class, case)?;
        if options.update {
            let written = update(case, &outcome)?;
            say(&format!("{written} {}\n", case.display()))?;
            continue;
        }
        match compare(case, &outcome)? {
            None => say(&format!("ok     {}\n", case.display()))?,
            Some(difference) => {
                failed += 1;
                say(&format!("FAILED {}\n{difference}", case.display()))?;
            }
        }
    }
    if failed > 0 {
        bail!("{failed} of {} cases failed", options.cases.len());
    }
    Ok(())
}

/// What the class makes of the Cluster of a case, or the error with which it refuses it.
type Outcome = Result<Vec<Value>, String>;

fn rendered(kinds: &Kinds, class: &[Value], case: &Path) -> Result<Outcome> {
    let own = read_all(&[case.join(CLUSTER)])?;
    let own: Result<Vec<Value>, Refusal> = own.iter().map(|document| kinds.stored(document)).collect();
    let own = match own {
        Ok(own) => own,
        Err(refusal) => return Ok(Err(refusal.message)),
    };
    let cluster = manifests::cluster(&own, None).with_context(|| case.join(CLUSTER).display().to_string())?;
    // A case can bring templates of its own, for example for a class that differs in one.
    let objects: Vec<Value> = own.into_iter().chain(class.iter().cloned()).collect();
    let outcome = manifests::render(kinds, &objects, &cluster).map_err(|error| error.to_string());
    Ok(outcome.map(|(rendered, unused)| {
        unused.iter().for_each(|line| tell(&format!("Warning: {}: {line}", case.display())));
        rendered
    }))
}

/// Returns how the outcome differs from what is expected; `None` if it does not.
fn compare(case: &Path, outcome: &Outcome) -> Result<Option<String>> {
    let (expected, error) = (case.join(EXPECTED), case.join(ERROR));
    match (expected.exists(), error.exists()) {
        (true, true) => bail!("{} has both {EXPECTED} and {ERROR}; remove one", case.display()),
        (false, false) => {
            bail!("{} has neither {EXPECTED} nor {ERROR}; write one with --update", case.display())
        }
        (true, false) => {
            let wanted = manifests::read_rendered(expected)?;
            match outcome {
                Ok(objects) => difference::of_objects(&wanted, objects),
                Err(error) => Ok(Some(format!("  the class refuses the Cluster: {error}\n"))),
            }
        }
        (false, true) => {
            let text = std::fs::read_to_string(&error)
                .with_context(|| format!("cannot read {}", error.display()))?;
            match outcome {
                Err(error) if error.contains(text.trim()) => Ok(None),
                Err(error) => Ok(Some(format!("  the error is another one\n- {}\n+ {error}\n", text.trim()))),
                Ok(_) => Ok(Some(format!(
                    "  the class accepts the Cluster, but this error is expected: {}\n",
                    text.trim()
                ))),
            }
        }
    }
}

/// Writes the outcome as what is expected. Returns which file it wrote.
fn update(case: &Path, outcome: &Outcome) -> Result<&'static str> {
    let (written, other, text) = match outcome {
        Ok(objects) => (EXPECTED, ERROR, manifests::write(objects)?),
        Err(error) => (ERROR, EXPECTED, format!("{error}\n")),
    };
    let path = case.join(written);
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    let other = case.join(other);
    if other.exists() {
        std::fs::remove_file(&other).with_context(|| format!("cannot remove {}", other.display()))?;
    }
    Ok(written)
}
