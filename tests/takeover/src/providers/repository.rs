//! Folders in clusterctl's layout with upstream's providers, and archives with their images.

use std::fs;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};
use server::image;

/// One of upstream's providers.
#[derive(Debug, Clone, Copy)]
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
    /// The folder of its programs and its repository, among the tools.
    pub tools: &'static str,
    /// The file name of its program.
    program: &'static str,
    /// Its release.
    pub version: &'static str,
}

/// All that a cluster needs.
pub const PROVIDERS: [Provider; 4] = [
    Provider {
        name: "cluster-api",
        kind: "CoreProvider",
        flag: "--core",
        label: "cluster-api",
        components: "core-components.yaml",
        image: "gcr.io/k8s-staging-cluster-api/cluster-api-controller:main",
        tools: "cluster-api",
        program: "core-manager",
        version: "v1.14.2",
    },
    Provider {
        name: "kubeadm",
        kind: "BootstrapProvider",
        flag: "--bootstrap",
        label: "bootstrap-kubeadm",
        components: "bootstrap-components.yaml",
        image: "gcr.io/k8s-staging-cluster-api/kubeadm-bootstrap-controller:main",
        tools: "cluster-api",
        program: "kubeadm-bootstrap-manager",
        version: "v1.14.2",
    },
    Provider {
        name: "kubeadm",
        kind: "ControlPlaneProvider",
        flag: "--control-plane",
        label: "control-plane-kubeadm",
        components: "control-plane-components.yaml",
        image: "gcr.io/k8s-staging-cluster-api/kubeadm-control-plane-controller:main",
        tools: "cluster-api",
        program: "kubeadm-control-plane-manager",
        version: "v1.14.2",
    },
    Provider {
        name: "docker",
        kind: "InfrastructureProvider",
        flag: "--infrastructure",
        label: "infrastructure-docker",
        components: "infrastructure-components-development.yaml",
        image: "gcr.io/k8s-staging-cluster-api/capd-manager:main",
        tools: "cluster-api",
        program: "dev-manager",
        version: "v1.14.2",
    },
];

/// A runtime extension, which upstream's specs use.
pub const EXTENSION: Provider = Provider {
    name: "test-extension",
    kind: "RuntimeExtensionProvider",
    flag: "--runtime-extension",
    label: "runtime-extension-test-extension",
    components: "runtime-extension-components.yaml",
    image: "gcr.io/k8s-staging-cluster-api/test-extension:main",
    tools: "cluster-api",
    program: "test-extension",
    version: "v1.14.2",
};

pub const VSPHERE: Provider = Provider {
    name: "vsphere",
    kind: "InfrastructureProvider",
    flag: "--infrastructure",
    label: "infrastructure-vsphere",
    components: "infrastructure-components.yaml",
    image: "gcr.io/k8s-staging-capi-vsphere/cluster-api-vsphere-controller:main",
    tools: "vsphere",
    program: "manager",
    version: "v1.14.0",
};

/// Where the programs are in their images: the manifests name this path, or rely on the entry point.
const MANAGER: &str = "/manager";

impl Provider {
    /// Returns the file of its components.
    pub fn url(&self, tools: &Path) -> PathBuf {
        let repository = tools.join(self.tools).join("repository").join(self.label);
        repository.join(self.version).join(self.components)
    }
}

/// Writes clusterctl's configuration for the repositories that `tests/takeover/install-tools` has made.
///
/// # Errors
/// A repository is not there, or the file cannot be written.
pub fn configure(
    tools: &Path,
    folder: &Path,
    providers: &[Provider],
    variables: &[(&str, &str)],
) -> Result<PathBuf> {
    let mut entries = Vec::new();
    for provider in providers {
        let url = provider.url(tools);
        fs::metadata(&url)
            .with_context(|| format!("{}: tests/takeover/install-tools makes it", url.display()))?;
        entries.push(json!({"name": provider.name, "type": provider.kind, "url": url}));
    }
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value)));
    let mut configuration: Map<String, Value> = variables.collect();
    configuration.insert("providers".to_owned(), entries.into());
    let path = folder.join("clusterctl.yaml");
    fs::write(&path, Value::from(configuration).to_string())?;
    Ok(path)
}

/// Writes an archive for each provider to a new folder, and returns the folder.
///
/// # Errors
/// A program is not there, or an archive cannot be written.
pub fn images(tools: &Path, folder: &Path, providers: &[Provider]) -> Result<PathBuf> {
    let archives = folder.join("images");
    fs::create_dir(&archives)?;
    for provider in providers {
        let source = tools.join(provider.tools).join(provider.program);
        let entries = [image::Entry::File { path: MANAGER.to_owned(), source }];
        let file = fs::File::create(archives.join(format!("{}.tar", provider.label)))?;
        image::write_program(BufWriter::new(file), provider.image, MANAGER, &entries)?;
    }
    Ok(archives)
}
