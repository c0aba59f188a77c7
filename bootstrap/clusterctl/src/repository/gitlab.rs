//! GitLab's generic packages. A package has one version, the one in the URL.

use bytes::Bytes;

use super::fetcher::Fetcher;
use super::published::Published;
use crate::configuration::Configuration;
use crate::network::Request;
use crate::{Context, Error, Result};

/// A package of a project.
pub(super) struct Package {
    /// `https://HOST/api/v4/projects/PROJECT/packages/generic/NAME`, without a final slash.
    base: String,
    token: Option<String>,
}

/// The package that a path names, its version, and the name of the components file.
pub(super) fn parse(host: &str, path: &str, configuration: &Configuration) -> Result<Published<Package>> {
    let parts: Vec<&str> = path.split('/').collect();
    let ["api", "v4", "projects", project, "packages", "generic", name, version, file] = parts.as_slice()
    else {
        return Err(Error::invalid(
            "invalid url: a GitLab repository url should be in the form https://{host}/api/v4/projects/{projectSlug}/packages/generic/{packageName}/{defaultVersion}/{componentsPath}",
        ));
    };
    let base = format!("https://{host}/api/v4/projects/{project}/packages/generic/{name}");
    let package = Package { base, token: configuration.variable("gitlab-access-token") };
    Ok(Published { source: package, version: (*version).to_owned(), components_file: (*file).to_owned() })
}

impl Package {
    pub async fn file(&self, fetcher: &Fetcher, version: &str, name: &str) -> Result<Bytes> {
        let url = format!("{}/{version}/{name}", self.base);
        let failed = || format!("failed to get file {name:?} with version {version:?} from {url:?}");
        let request = Request { url: url.clone(), accept: None, token: self.token.clone() };
        let answer = fetcher.get(request).await.context(failed)?;
        match answer.status {
            200 => Ok(answer.body),
            status => Err(Error::invalid(format!("{}, got {status}", failed()))),
        }
    }
}
