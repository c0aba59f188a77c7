//! `class render`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde_json::json;

use super::manifests;
use super::served::Kinds;
use crate::output::Output;
use crate::output::{print, say_document, tell};

/// Options of `class render`.
#[derive(Debug, Args)]
pub struct RenderOptions {
    /// File, folder or - with the ClusterClass, its templates and the Cluster; can be repeated
    #[arg(short = 'f', long = "filename", value_name = "FILE", required = true)]
    pub filename: Vec<PathBuf>,
    /// Which Cluster, if there are several
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// Set a variable of the Cluster; the value is YAML; can be repeated
    #[arg(long = "variable", value_name = "NAME=VALUE")]
    pub variables: Vec<String>,
    /// Kubernetes version instead of that of the Cluster
    #[arg(long, value_name = "VERSION")]
    pub kubernetes_version: Option<String>,
    /// Form of the output [default: yaml, a document for each object]
    #[arg(short, long, value_enum)]
    pub output: Option<Output>,
}

/// Runs `class render`.
///
/// # Errors
/// The manifests cannot be read, or the class cannot make a Cluster of them.
pub fn run(options: &RenderOptions) -> Result<()> {
    let kinds = Kinds::read()?;
    let objects = manifests::read(&kinds, &options.filename)?;
    let mut cluster = manifests::cluster(&objects, options.cluster.as_deref())?;
    for assignment in &options.variables {
        manifests::set_variable(&mut cluster, assignment)?;
    }
    if let Some(version) = &options.kubernetes_version {
        manifests::topology(&mut cluster)?.insert("version".to_owned(), json!(version));
    }
    let (rendered, unused) = manifests::render(&kinds, &objects, &cluster)?;
    unused.iter().for_each(|line| tell(&format!("Warning: {line}")));
    match options.output {
        Some(Output::Json) => {
            print(&json!({ "apiVersion": "v1", "kind": "List", "items": rendered }), Output::Json)
        }
        Some(Output::Yaml) | None => say_document(&manifests::write(&rendered)?),
    }
}
