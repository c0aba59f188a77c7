//! A folder of any web server: `https://HOST/PATH/VERSION/FILE`. It has one version, the one in the URL.

use bytes::Bytes;

use super::fetcher::Fetcher;
use super::published::Published;
use crate::network::Request;
use crate::{Context, Error, Result, version};

/// The folder above those of the versions.
pub(super) struct Website(String);

/// The folder that an address names, the version in it, and the name of the components file; `None` if the address has another form.
pub(super) fn parse(host: &str, path: &str) -> Option<Published<Website>> {
    let mut names = path.rsplitn(3, '/');
    let (file, release) = (names.next()?, names.next()?);
    version::parse(release)?;
    let base = names.next().map(|base| format!("/{base}")).unwrap_or_default();
    Some(Published {
        source: Website(format!("https://{host}{base}")),
        version: release.to_owned(),
        components_file: file.to_owned(),
    })
}

impl Website {
    pub async fn file(&self, fetcher: &Fetcher, version: &str, name: &str) -> Result<Bytes> {
        let url = format!("{}/{version}/{name}", self.0);
        let failed = || format!("failed to get file {name:?} with version {version:?} from {url:?}");
        let answer = fetcher.get(Request::new(url.clone())).await.context(failed)?;
        match answer.status {
            200 => Ok(answer.body),
            _ => Err(Error::NotFound).context(failed),
        }
    }
}
