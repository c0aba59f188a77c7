//! The places where providers publish their files: a folder, GitHub, GitLab, another web server, or OCI artifacts. A bundle, and before it a
//! folder of overrides, take precedence over each of them.

mod artifact;
mod bundled;
mod fetcher;
mod github;
mod gitlab;
mod latest;
mod local;
mod metadata;
mod published;
mod supplied;
mod website;

use std::path::PathBuf;

use bytes::Bytes;

pub use fetcher::Fetcher;
pub use github::Project;
pub use metadata::{Metadata, ReleaseSeries};
pub use supplied::{COMPONENTS, METADATA, Supplied};

use self::published::Published;
use crate::configuration::{Configuration, Provider, ProviderType};
use crate::{Context, Error, Result};

/// The files of a provider.
pub struct Repository {
    /// The provider that publishes them.
    pub provider: Provider,
    /// The version in the provider's URL; `latest` is already replaced (except for GitLab).
    pub version: String,
    components_file: String,
    source: Source,
    overrides: Option<PathBuf>,
    fetcher: Fetcher,
}

enum Source {
    Local(local::Folder),
    GitHub(github::Project),
    GitLab(gitlab::Package),
    Website(website::Website),
    Artifacts(Box<artifact::Artifacts>),
    Bundled(bundled::Bundled),
    Supplied(Supplied),
}

/// Whether somebody has said where a provider of this name and type comes from: an entry of the configuration's file, or a bundle that has it.
pub fn has_source(configuration: &Configuration, name: &str, provider_type: ProviderType) -> bool {
    let is_bundled = |bundles| {
        let provider = configuration.provider(name, provider_type);
        provider.is_ok_and(|provider| bundled::find(bundles, &provider).is_some())
    };
    configuration.names(name, provider_type) || configuration.bundles().is_some_and(is_bundled)
}

impl Repository {
    /// Opens the repository that a provider's URL names.
    ///
    /// # Errors
    /// The URL is invalid, or no version is found for `latest`.
    pub async fn open(provider: &Provider, configuration: &Configuration, fetcher: &Fetcher) -> Result<Self> {
        let failed = || {
            format!(
                "failed to get repository client for the {} with name {}",
                provider.type_name(),
                provider.name
            )
        };
        Self::of_url(provider, configuration, fetcher).await.context(failed)
    }

    /// Returns the repository of files that are there already. Without a version in `supplied`, its version is empty.
    pub fn supplied(provider: &Provider, supplied: Supplied, fetcher: &Fetcher) -> Self {
        Self {
            provider: provider.clone(),
            version: supplied.newest().cloned().unwrap_or_default(),
            components_file: COMPONENTS.to_owned(),
            source: Source::Supplied(supplied),
            overrides: None,
            fetcher: fetcher.clone(),
        }
    }

    async fn of_url(provider: &Provider, configuration: &Configuration, fetcher: &Fetcher) -> Result<Self> {
        let bundled = configuration.bundles().and_then(|catalogue| bundled::find(catalogue, provider));
        let Published { source, version, components_file } = match bundled {
            Some(bundled) => bundled.map(Source::Bundled),
            None => published(provider, configuration, fetcher)?,
        };
        let overrides = configuration.overrides_folder()?.map(|folder| folder.join(provider.label()));
        let fetcher = fetcher.clone();
        let mut repository =
            Self { provider: provider.clone(), version, components_file, source, overrides, fetcher };
        if repository.version == "latest" {
            let what = match &repository.source {
                Source::Local(_) => {
                    "error creating the local filesystem repository client: failed to get latest version"
                }
                Source::GitHub(_) => {
                    "error creating the GitHub repository client: failed to get latest release"
                }
                Source::GitLab(_) | Source::Website(_) | Source::Supplied(_) => return Ok(repository),
                Source::Artifacts(_) => {
                    "error creating the OCI repository client: failed to get latest version"
                }
                Source::Bundled(_) => "failed to get the latest version of the bundle",
            };
            repository.version = latest::of_contract(&repository).await.context(|| what.to_owned())?;
        }
        Ok(repository)
    }

    /// A file of a version; taken from the folder of overrides if it is there.
    ///
    /// # Errors
    /// The file does not exist or cannot be read.
    pub async fn file(&self, version: &str, name: &str) -> Result<Bytes> {
        if let Some(path) = self.overrides.as_ref().map(|folder| folder.join(version).join(name)) {
            match std::fs::read(&path) {
                Ok(text) => {
                    tracing::info!(
                        file = name,
                        provider = self.provider.label(),
                        version,
                        "Using the override"
                    );
                    return Ok(text.into());
                }
                Err(error)
                    if matches!(
                        error.kind(),
                        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
                    ) => {}
                Err(error) => {
                    return Err(error)
                        .context(|| format!("failed to read local override for {}", path.display()));
                }
            }
        }
        self.published(version, name).await
    }

    /// A file of a version as the provider published it.
    async fn published(&self, version: &str, name: &str) -> Result<Bytes> {
        match &self.source {
            Source::Local(folder) => folder.file(version, name),
            Source::GitHub(project) => project.file(&self.fetcher, version, name).await,
            Source::GitLab(package) => package.file(&self.fetcher, version, name).await,
            Source::Website(website) => website.file(&self.fetcher, version, name).await,
            Source::Artifacts(artifacts) => artifacts.file(version, name).await,
            Source::Bundled(bundled) => bundled.file(version, name),
            Source::Supplied(supplied) => supplied.file(version, name),
        }
    }

    /// All versions that the provider published.
    ///
    /// # Errors
    /// They cannot be listed.
    pub(crate) async fn versions(&self) -> Result<Vec<String>> {
        match &self.source {
            Source::Local(folder) => folder.versions(),
            Source::GitHub(project) => project.versions(&self.fetcher).await,
            Source::GitLab(_) | Source::Website(_) => Ok(vec![self.version.clone()]),
            Source::Artifacts(artifacts) => artifacts.versions().await,
            Source::Bundled(bundled) => Ok(bundled.versions()),
            Source::Supplied(supplied) => Ok(supplied.versions()),
        }
    }

    /// The components of a version.
    ///
    /// # Errors
    /// As [`Self::file`].
    pub async fn components(&self, version: &str) -> Result<Bytes> {
        let name = &self.components_file;
        let failed =
            || format!("failed to read {name:?} from provider's repository {:?}", self.provider.label());
        self.file(version, name).await.context(failed)
    }

    /// A template of a version, such as `cluster-template.yaml`.
    ///
    /// # Errors
    /// As [`Self::file`].
    pub async fn template(&self, version: &str, name: &str) -> Result<Bytes> {
        let failed =
            || format!("failed to read {name:?} from provider's repository {:?}", self.provider.label());
        self.file(version, name).await.context(failed)
    }

    /// The metadata of the provider's releases, as published with a version.
    ///
    /// # Errors
    /// The file does not exist or is invalid.
    pub async fn metadata(&self, version: &str) -> Result<Metadata> {
        let label = self.provider.label();
        let failed =
            || format!("failed to read \"metadata.yaml\" from the repository for provider {label:?}");
        let text = self.file(version, METADATA).await.context(failed)?;
        metadata::parse(&text, &label)
    }
}

/// The place that a provider's URL names.
fn published(
    provider: &Provider,
    configuration: &Configuration,
    fetcher: &Fetcher,
) -> Result<Published<Source>> {
    let url = provider.url.as_str();
    match url.split_once("://") {
        Some(("https", rest)) => {
            let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
            if host == "github.com" {
                let parsed = github::parse(path, configuration)
                    .context(|| "error creating the GitHub repository client".to_owned())?;
                Ok(parsed.map(Source::GitHub))
            } else if host.starts_with("gitlab.") && path.starts_with("api/v4/projects/") {
                let parsed = gitlab::parse(host, path, configuration)
                    .context(|| "error creating the GitLab repository client".to_owned())?;
                Ok(parsed.map(Source::GitLab))
            } else if let Some(parsed) = website::parse(host, path) {
                Ok(parsed.map(Source::Website))
            } else {
                Err(Error::invalid(
                    "invalid provider url. Only GitHub and GitLab are supported for \"https\" schema, and addresses in the form https://{host}/{path}/{version}/{components.yaml}",
                ))
            }
        }
        Some(("oci", path)) => Ok(artifact::parse(path, provider, configuration, fetcher)?
            .map(|found| Source::Artifacts(Box::new(found)))),
        Some(("file", path)) => Ok(local::parse(url, path, provider)?.map(Source::Local)),
        None => Ok(local::parse(url, url, provider)?.map(Source::Local)),
        Some((scheme, _)) => Err(Error::invalid(format!(
            "invalid provider url. there are no provider implementation for {scheme:?} schema"
        ))),
    }
}
