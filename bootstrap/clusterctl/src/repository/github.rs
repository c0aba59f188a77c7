//! Reads GitHub's releases. Versions come from the Go module proxy, and files from their download addresses. GitHub's API, which has a
//! rate limit, is used if these fail or `GOPROXY` turns them off.

use bytes::Bytes;
use serde_json::Value;

use super::fetcher::Fetcher;
use super::published::Published;
use crate::configuration::Configuration;
use crate::network::{Answer, Request};
use crate::{Context, Error, Result, version};

const API: &str = "https://api.github.com";
const DEFAULT_PROXY: &str = "https://proxy.golang.org";
/// Releases on a page of the API.
const PAGE_SIZE: usize = 100;
/// Maximum number of pages, or of major versions, to read.
const PAGES_MAX: usize = 100;

/// A repository on GitHub.
pub struct Project {
    owner: String,
    name: String,
    /// A folder to put before the names of assets.
    folder: String,
    proxy: Option<String>,
    token: Option<String>,
}

/// The project that a path names, its version, and the name of the components file.
pub(super) fn parse(path: &str, configuration: &Configuration) -> Result<Published<Project>> {
    let parts: Vec<&str> = path.split('/').collect();
    let [owner, name, "releases", release, file @ ..] = parts.as_slice() else {
        return Err(form());
    };
    let Some((file, folder)) = file.split_last() else { return Err(form()) };
    let mut project = Project::new(owner, name, configuration);
    project.folder = folder.iter().map(|part| format!("{part}/")).collect();
    Ok(Published { source: project, version: (*release).to_owned(), components_file: (*file).to_owned() })
}

fn form() -> Error {
    Error::invalid(
        "invalid url: a GitHub repository url should be in the form https://github.com/{owner}/{Repository}/releases/{latest|version-tag}/{componentsClient.yaml}",
    )
}

/// The first proxy in `GOPROXY`; `None` if it is `off` or `direct`.
fn proxy(variable: Option<&str>) -> Option<String> {
    let mut names =
        variable.unwrap_or_default().split([',', '|']).map(str::trim).filter(|name| !name.is_empty());
    match names.next() {
        None => Some(DEFAULT_PROXY.to_owned()),
        Some("off" | "direct") => None,
        Some(name) if name.contains(":/") => Some(name.trim_end_matches('/').to_owned()),
        Some(name) => Some(format!("https://{}", name.trim_end_matches('/'))),
    }
}

impl Project {
    /// A project, with the proxy and the token of the configuration.
    pub fn new(owner: &str, name: &str, configuration: &Configuration) -> Self {
        Self {
            owner: owner.to_owned(),
            name: name.to_owned(),
            folder: String::new(),
            proxy: proxy(configuration.environment().get("GOPROXY").as_deref()),
            token: configuration.variable("github-token"),
        }
    }

    /// All versions of the project.
    pub async fn versions(&self, fetcher: &Fetcher) -> Result<Vec<String>> {
        if let Some(proxy) = &self.proxy {
            match self.listed(fetcher, proxy).await {
                Ok(versions) if !versions.is_empty() => return Ok(versions),
                Ok(_) => {}
                Err(error) => tracing::debug!(%error, "the Go module proxy does not answer"),
            }
        }
        self.released(fetcher).await
    }

    /// The versions that the proxy lists, for each major version of the module.
    async fn listed(&self, fetcher: &Fetcher, proxy: &str) -> Result<Vec<String>> {
        let mut versions = Vec::new();
        for major in 1..=PAGES_MAX {
            let major = if major > 1 { format!("/v{major}") } else { String::new() };
            let url = format!("{proxy}/github.com/{}/{}{major}/@v/list", self.owner, self.name);
            let answer = fetcher.get(Request::new(url)).await?;
            if answer.status == 404 {
                break;
            }
            let text = String::from_utf8_lossy(&answer.body);
            versions.extend(text.lines().filter_map(version::parse).map(|version| format!("v{version}")));
        }
        Ok(versions)
    }

    async fn released(&self, fetcher: &Fetcher) -> Result<Vec<String>> {
        let mut versions = Vec::new();
        for page in 1..=PAGES_MAX {
            let path = format!("/releases?page={page}&per_page={PAGE_SIZE}");
            let answer = self
                .ask(fetcher, &path, None)
                .await
                .context(|| "failed to get the list of releases".to_owned())?;
            let releases: Vec<Value> = serde_json::from_slice(&answer.body)
                .map_err(|error| Error::invalid(format!("failed to get the list of releases: {error}")))?;
            let tags = releases.iter().filter_map(|release| release.get("tag_name")?.as_str());
            versions.extend(tags.filter(|tag| version::parse(tag).is_some()).map(str::to_owned));
            if releases.len() < PAGE_SIZE {
                break;
            }
        }
        Ok(versions)
    }

    /// A file of a release.
    pub async fn file(&self, fetcher: &Fetcher, release: &str, name: &str) -> Result<Bytes> {
        let Self { owner, name: project, .. } = self;
        if self.proxy.is_some() {
            let url = format!("https://github.com/{owner}/{project}/releases/download/{release}/{name}");
            match fetcher.get(Request::new(url)).await {
                Ok(answer) if answer.status == 200 => return Ok(answer.body),
                Ok(_) => {}
                Err(error) => tracing::debug!(%error, "the file cannot be downloaded directly"),
            }
        }
        self.asset(fetcher, release, &format!("{}{name}", self.folder)).await
    }

    /// A file of a release, read with the API.
    pub async fn asset(&self, fetcher: &Fetcher, tag: &str, name: &str) -> Result<Bytes> {
        let release = self.ask(fetcher, &format!("/releases/tags/{tag}"), None).await;
        let release = release.map_err(|error| match error {
            Error::NotFound => Error::Context(
                format!("release not found for version {tag}, please retry later or set \"GOPROXY=off\" to get the current stable release"),
                Box::new(Error::NotFound),
            ),
            other => Error::Context(format!("failed to get GitHub release {tag}"), Box::new(other)),
        })?;
        let failed = || format!("failed to download files from GitHub release {tag}");
        let release: Value = serde_json::from_slice(&release.body)
            .map_err(|error| Error::invalid(error.to_string()))
            .context(failed)?;
        let mut assets = release["assets"].as_array().into_iter().flatten();
        let id = assets.find(|asset| asset["name"] == name).and_then(|asset| asset["id"].as_u64());
        let id = id
            .ok_or_else(|| Error::invalid(format!("failed to get file {name:?} from {tag:?} release")))
            .context(failed)?;
        let path = format!("/releases/assets/{id}");
        Ok(self.ask(fetcher, &path, Some("application/octet-stream")).await.context(failed)?.body)
    }

    /// A file of a branch, read with the API.
    pub async fn content(&self, fetcher: &Fetcher, branch: &str, path: &str) -> Result<Bytes> {
        let url = format!("/contents/{path}?ref={branch}");
        Ok(self.ask(fetcher, &url, Some("application/vnd.github.raw+json")).await?.body)
    }

    async fn ask(&self, fetcher: &Fetcher, path: &str, accept: Option<&'static str>) -> Result<Answer> {
        let url = format!("{API}/repos/{}/{}{path}", self.owner, self.name);
        let answer = fetcher.get(Request { url, accept, token: self.token.clone() }).await?;
        if answer.status == 404 { Err(Error::NotFound) } else { Ok(answer) }
    }
}
