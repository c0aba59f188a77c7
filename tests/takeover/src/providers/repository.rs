//! A folder in clusterctl's layout with upstream's providers, and archives with their images.

use std::fs;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use firstlight::image;
use serde_json::json;

/// The release of all four providers.
pub const VERSION: &str = "v1.14.2";

/// One of upstream's providers.
pub struct Provider {
    /// The name that clusterctl knows.
    pub name: &'static str,
    /// The type in clusterctl's configuration.
    pub kind: &'static str,
    /// The flag of `init`.
    pub flag: &'static str,
    /// The folder of the repository, and the label of its objects.
    pub label: &'static str,
    /// The file of its components.
    pub components: &'static str,
    /// The image in its components.
    image: &'static str,
    /// The file name of its program.
    program: &'static str,
}

pub const PROVIDERS: [Provider; 4] = [
    Provider {
        name: "cluster-api",
        kind: "CoreProvider",
        flag: "--core",
        label: "cluster-api",
        components: "core-components.yaml",
        image: "gcr.io/k8s-staging-cluster-api/cluster-api-controller:main",
        program: "core-manager",
    },
    Provider {
        name: "kubeadm",
        kind: "BootstrapProvider",
        flag: "--bootstrap",
        label: "bootstrap-kubeadm",
        components: "bootstrap-components.yaml",
        image: "gcr.io/k8s-staging-cluster-api/kubeadm-bootstrap-controller:main",
        program: "kubeadm-bootstrap-manager",
    },
    Provider {
        name: "kubeadm",
        kind: "ControlPlaneProvider",
        flag: "--control-plane",
        label: "control-plane-kubeadm",
        components: "control-plane-components.yaml",
        image: "gcr.io/k8s-staging-cluster-api/kubeadm-control-plane-controller:main",
        program: "kubeadm-control-plane-manager",
    },
    Provider {
        name: "docker",
        kind: "InfrastructureProvider",
        flag: "--infrastructure",
        label: "infrastructure-docker",
        components: "infrastructure-components-development.yaml",
        image: "gcr.io/k8s-staging-cluster-api/capd-manager:main",
        program: "dev-manager",
    },
];

/// Where the programs are in their images: the manifests name this path, or rely on the entry point.
const MANAGER: &str = "/manager";

/// Writes clusterctl's configuration for the repository that `tests/takeover/install-tools providers` has made.
///
/// # Errors
/// The repository is not there, or the file cannot be written.
pub fn configure(tools: &Path, folder: &Path) -> Result<PathBuf> {
    let repository = tools.join("cluster-api/repository");
    let mut entries = Vec::new();
    for provider in &PROVIDERS {
        let url = repository.join(provider.label).join(VERSION).join(provider.components);
        fs::metadata(&url)
            .with_context(|| format!("{}: tests/takeover/install-tools providers makes it", url.display()))?;
        entries.push(json!({"name": provider.name, "type": provider.kind, "url": url}));
    }
    let path = folder.join("clusterctl.yaml");
    // The sample is a cluster of a ClusterClass, which upstream has switched off by default.
    let configuration = json!({"providers": entries, "CLUSTER_TOPOLOGY": "true"});
    fs::write(&path, configuration.to_string())?;
    Ok(path)
}

/// Writes an archive for each provider to a new folder, and returns the folder.
///
/// # Errors
/// A program is not there, or an archive cannot be written.
pub fn images(tools: &Path, folder: &Path) -> Result<PathBuf> {
    let archives = folder.join("images");
    fs::create_dir(&archives)?;
    for provider in &PROVIDERS {
        let source = tools.join("cluster-api").join(provider.program);
        let entries = [image::Entry::File { path: MANAGER.to_owned(), source }];
        let file = fs::File::create(archives.join(format!("{}.tar", provider.label)))?;
        image::write_program(BufWriter::new(file), provider.image, MANAGER, &entries)?;
    }
    Ok(archives)
}
