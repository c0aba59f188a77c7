//! Images of the daemon: those that it has, that are loaded into it from archives of this machine, and that it pulls.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use container_images::{Credentials, Locks, Name, Sources};
use http::Method;
use node_images::REMEDY;
use parking_lot::Mutex;
use serde_json::json;
use system_containers::{Image, Report};
use tokio::io::AsyncRead;

use super::containers::Containers;
use super::find;
use crate::api::{ImageInspected, Line};
use crate::client::{Client, Sent, quoted, unless_missing};
use crate::progress::Pull;
use crate::{limits, progress};

/// The folder of archives while they are decompressed, in the data directory.
const SCRATCH: &str = "scratch";

/// The images of a daemon, and what it may get more of them from.
pub(super) struct DaemonImages {
    data: PathBuf,
    sources: Sources,
    credentials: Credentials,
    /// Held while an image is fetched.
    fetches: Locks,
    /// What was found of images, by name: the identity that the daemon gave the image then, which is another one when the name has another image.
    known: Mutex<BTreeMap<String, (String, Image)>>,
}

impl DaemonImages {
    pub(super) fn new(data: PathBuf, sources: Sources, credentials: Credentials) -> Self {
        Self { data, sources, credentials, fetches: Locks::default(), known: Mutex::default() }
    }

    /// Finds the image of a node, and how a container of it is made.
    pub(super) async fn find(
        &self,
        containers: &Containers,
        name: &str,
        report: Report<'_>,
    ) -> Result<Image> {
        let found = self.available(containers.client(), name, report).await?;
        if let Some((id, image)) = self.known.lock().get(name)
            && *id == found.id
        {
            return Ok(image.clone());
        }
        let image = find::node(containers, &self.data, name, &found).await?;
        self.known.lock().insert(name.to_owned(), (found.id, image.clone()));
        Ok(image)
    }

    /// Packs an image.
    pub(super) async fn archive(
        &self,
        client: &Client,
        name: &str,
    ) -> Result<Box<dyn AsyncRead + Send + Unpin>> {
        self.available(client, name, &|_| ()).await?;
        let path = format!("/images/get?names={}", quoted(name));
        let archive = client.stream(Method::GET, &path, Sent::Nothing, limits::IMAGE).await;
        archive.with_context(|| format!("the image {name} cannot be packed"))
    }

    /// Removes the containers that an ended process has made to look into images.
    pub(super) async fn sweep(&self, containers: &Containers) {
        if let Err(error) = find::sweep(containers, &self.data).await {
            tracing::warn!("what an earlier process has left cannot be removed: {error:#}");
        }
    }

    /// Makes an image available to the daemon.
    async fn available(&self, client: &Client, text: &str, report: Report<'_>) -> Result<ImageInspected> {
        let name: Name = text.parse()?;
        if let Some(found) = image(client, text).await? {
            return Ok(found);
        }
        // Several machines want one image at the same time. Another one may be that of a registry that hangs.
        let _alone = self.fetches.lock(&name.to_string()).await;
        if let Some(found) = image(client, text).await? {
            return Ok(found);
        }
        let local = match self.load(client, &name, report).await {
            Ok(()) => None,
            Err(local) => {
                let pulled = self.pull(client, text, &name, report).await;
                let nowhere = |pull: anyhow::Error| {
                    anyhow!(
                        "{local:#}; {} does not have it, and cannot pull it: {pull:#}. To have {name}, {REMEDY}",
                        client.engine().name()
                    )
                };
                pulled.map_err(nowhere)?;
                Some(local)
            }
        };
        image(client, text).await?.with_context(|| match local {
            None => format!("{text} was loaded, and {} does not have it under this name: is it named by a digest? Pull it, or name it by a tag", client.engine().name()),
            Some(_) => format!("{text} was pulled, and removed by somebody else"),
        })
    }

    /// Loads an image from an archive or a folder of this machine.
    async fn load(&self, client: &Client, name: &Name, report: Report<'_>) -> Result<()> {
        let archive = node_images::local(&self.sources, name, &self.data.join(SCRATCH)).await?;
        report(&format!("loading {name}"));
        let loaded = async {
            let call = "/images/load?quiet=1";
            let lines = client.stream(Method::POST, call, Sent::Archive(archive), limits::IMAGE).await?;
            progress::finish(lines, limits::IMAGE, &mut |_| ()).await
        };
        let loaded = tokio::time::timeout(limits::IMAGE, loaded).await;
        let cannot = || format!("{name} cannot be loaded into {}", client.engine().name());
        loaded.context("it takes too long").flatten().with_context(cannot)
    }

    async fn pull(&self, client: &Client, text: &str, name: &Name, report: Report<'_>) -> Result<()> {
        report(&format!("pulling {name}"));
        let reference = match (&name.digest, &name.reference.tag) {
            (Some(digest), _) => format!("&tag={}", quoted(&digest.to_string())),
            (None, Some(tag)) => format!("&tag={}", quoted(tag)),
            (None, None) => String::new(),
        };
        let repository = &name.reference.repository;
        let path = format!("/images/create?fromImage={}{reference}", quoted(repository));
        let sent = match self.credentials.find(repository) {
            Some(login) => {
                let login = json!({"username": login.user, "password": login.password});
                Sent::Login(URL_SAFE.encode(login.to_string()))
            }
            None => Sent::Nothing,
        };
        // The daemon begins to answer when it has found the registry.
        let lines = client.stream(Method::POST, &path, sent, limits::CONTAINER).await?;
        let mut pull = Pull::new(text);
        let mut each = |line: &Line| {
            if let Some(words) = pull.of_line(line) {
                report(&words);
            }
        };
        let pulled = progress::finish(lines, limits::SILENCE, &mut each).await;
        pulled.with_context(|| format!("{} pulls {name}", client.engine().name()))
    }
}

async fn image(client: &Client, name: &str) -> Result<Option<ImageInspected>> {
    unless_missing(client.get(&format!("/images/{name}/json")).await)
}
