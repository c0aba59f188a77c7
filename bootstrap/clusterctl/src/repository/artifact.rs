//! OCI artifacts in a registry: `oci://REGISTRY/REPOSITORY[:VERSION][/FILE]`. A tag is a version, and the layers are its files.

use std::collections::HashMap;

use bytes::Bytes;
use distribution::{Artifact, Client, Credentials, Hosts, Login};
use tokio::sync::Mutex;

use super::fetcher::Fetcher;
use super::published::Published;
use super::supplied::{COMPONENTS, METADATA};
use crate::configuration::{Configuration, Provider};
use crate::network::of_registry;
use crate::{Context, Error, Result, version};

/// The annotation of a layer with the name of its file.
const TITLE: &str = "org.opencontainers.image.title";

/// A repository of artifacts.
pub(super) struct Artifacts {
    client: Client,
    credentials: Credentials,
    /// The registry and the path.
    repository: String,
    provider: Provider,
    known: Mutex<HashMap<String, Artifact>>,
}

/// The repository that an address names, the version in it, and the name of the components file.
pub(super) fn parse(
    path: &str,
    provider: &Provider,
    configuration: &Configuration,
    fetcher: &Fetcher,
) -> Result<Published<Artifacts>> {
    let form = || {
        Error::invalid(
            "invalid url: an OCI repository url should be in the form oci://{registry}/{repository}:{latest|version-tag}/{components.yaml}",
        )
    };
    // A colon before the first slash is that of the registry's port.
    let (registry, rest) = path.split_once('/').ok_or_else(form)?;
    let (name, release) = rest.split_once(':').unwrap_or((rest, "latest"));
    let (release, file) = match release.split_once('/') {
        Some((release, file)) => (release, file.to_owned()),
        None => (release, provider.components_file()),
    };
    if registry.is_empty() || name.is_empty() || (release != "latest" && version::parse(release).is_none()) {
        return Err(form());
    }
    let artifacts = Artifacts {
        client: Client::new(Hosts::default(), fetcher.clock().clone()).with_report(fetcher.report().clone()),
        credentials: credentials(registry, configuration),
        repository: format!("{registry}/{name}"),
        provider: provider.clone(),
        known: Mutex::default(),
    };
    Ok(Published { source: artifacts, version: release.to_owned(), components_file: file })
}

/// The credentials for a registry: the variables of the Cluster API Operator, or else those of the user.
fn credentials(registry: &str, configuration: &Configuration) -> Credentials {
    let variable = |name: &str| configuration.variable(name).filter(|value| !value.is_empty());
    let own = Credentials::of_this_user();
    match (variable("OCI_USERNAME"), variable("OCI_PASSWORD")) {
        (Some(user), Some(password)) => Credentials::of_registry(registry, Login { user, password }).and(own),
        _ => own,
    }
}

impl Artifacts {
    pub async fn file(&self, version: &str, name: &str) -> Result<Bytes> {
        let failed = || format!("failed to get file {name:?} from {}:{version}", self.repository);
        self.layer(version, name).await.context(failed)
    }

    async fn layer(&self, version: &str, name: &str) -> Result<Bytes> {
        let network = |error: anyhow::Error| of_registry(&error);
        let session = self.client.session(&self.repository, &self.credentials).map_err(network)?;
        let mut known = self.known.lock().await;
        if !known.contains_key(version) {
            let artifact = session.artifact(version).await.map_err(network)?;
            known.insert(version.to_owned(), artifact);
        }
        let layers = known.get(version).map(|artifact| artifact.layers.as_slice()).unwrap_or_default();
        let find = |name: &str| {
            let is_named = |title: &String| title.rsplit('/').next() == Some(name);
            layers.iter().find(|layer| layer.annotations.get(TITLE).is_some_and(is_named))
        };
        let layer = self.names(version, name).iter().find_map(|name| find(name));
        session.small(layer.ok_or(Error::NotFound)?).await.map_err(network)
    }

    pub async fn versions(&self) -> Result<Vec<String>> {
        let network = |error: anyhow::Error| of_registry(&error);
        let session = self.client.session(&self.repository, &self.credentials).map_err(network)?;
        let tags = session.tags().await.map_err(network)?;
        Ok(tags.into_iter().filter(|tag| version::parse(tag).is_some()).collect())
    }

    /// The names that a file may have in an artifact, as the Cluster API Operator knows them: one artifact may have the files of several
    /// providers and versions.
    fn names(&self, version: &str, name: &str) -> Vec<String> {
        let usual = self.provider.components_file();
        let kind = usual.trim_end_matches("-components.yaml");
        let whole = |file: &str| format!("{kind}-{}-{version}-{file}", self.provider.name);
        match name {
            METADATA => vec![whole(METADATA), name.to_owned()],
            name if name == usual => vec![whole(COMPONENTS), name.to_owned(), COMPONENTS.to_owned()],
            name => vec![name.to_owned()],
        }
    }
}
