//! Fetches bundles from the server whose services this one takes over.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Error, Result, anyhow, bail};
use futures::TryStreamExt;
use http::{Request, StatusCode, header};
use http_body_util::BodyExt;
use kube::{Client, Config};
use machinery::clock::Clock;
use metal_provisioning::http::bundles::{FOLDER, name_of};

use super::authority::Authority;

/// The limit for a piece of a file to arrive.
const SILENCE: Duration = Duration::from_secs(60);

/// Fetches the bundle with the name of `path` from the server at `url` to `path`, unless it is there undamaged. `authority` is the folder with the
/// certificate and key of the site's authority.
///
/// # Errors
/// The authority is not in the folder, the server does not answer or does not have the bundle, the disk is full, or the bundle is damaged.
pub async fn fetch(url: &str, authority: &Path, path: &Path) -> Result<()> {
    if path.exists() {
        match damage(path).await? {
            None => return Ok(()),
            Some(damage) => {
                tracing::warn!(
                    "the bundle {} is fetched again, because it is damaged: {damage:#}",
                    path.display()
                );
                std::fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))?;
            }
        }
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        files::make_folder(folder, 0o755)?;
    }
    BundleServer::new(url, &Authority::load(authority, &Clock::system())?)?.fetch(path).await
}

/// Returns what is wrong with a bundle, of which everything is read.
async fn damage(path: &Path) -> Result<Option<Error>> {
    let path = path.to_owned();
    let check = move || match bundle::Bundle::open(&path).and_then(|bundle| bundle::verify(&bundle)) {
        Ok(problems) => problems.first().map(|problem| anyhow!("{problem}")),
        Err(error) => Some(error),
    };
    tokio::task::spawn_blocking(check).await.context("the bundle was not checked")
}

/// A server with bundles.
struct BundleServer(Client);

impl BundleServer {
    /// Returns the server at `url`, whose certificate `authority` has issued.
    fn new(url: &str, authority: &Authority) -> Result<Self> {
        let mut config = Config::new(url.parse().with_context(|| url.to_owned())?);
        config.root_cert = Some(vec![authority.certificate_der()?]);
        config.auth_info.token = Some(authority.bundles_token().into());
        config.read_timeout = Some(SILENCE);
        Ok(Self(Client::try_from(config)?))
    }

    /// What an interrupted attempt has received is kept beside the file, which appears only when it is whole and has been checked.
    async fn fetch(&self, path: &Path) -> Result<()> {
        let name = name_of(path).context("a bundle without a name")?;
        let part = path.with_extension("part");
        let mut file = files::append(&part, 0o600)?;
        self.receive(&name, &mut file).await.with_context(|| format!("{name} cannot be fetched"))?;
        match damage(&part).await? {
            None => files::publish(&part, path),
            Some(damage) => {
                std::fs::remove_file(&part)?;
                Err(damage.context(format!("{name} is damaged")))
            }
        }
    }

    async fn receive(&self, name: &str, file: &mut File) -> Result<()> {
        let offset = file.seek(SeekFrom::End(0))?;
        let request =
            Request::get(format!("/{FOLDER}/{name}")).header(header::RANGE, format!("bytes={offset}-"));
        let answer = self.0.send(request.body(kube::client::Body::empty())?).await?;
        match answer.status() {
            StatusCode::PARTIAL_CONTENT => {}
            StatusCode::OK => file.set_len(0)?,
            // There are no more bytes: the last attempt ended before the check.
            StatusCode::RANGE_NOT_SATISFIABLE => return Ok(()),
            status => bail!("the server answers {status}"),
        }
        let mut content = answer.into_body().into_data_stream();
        while let Some(bytes) = content.try_next().await? {
            file.write_all(&bytes)?;
        }
        Ok(())
    }
}
