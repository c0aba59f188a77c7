//! Images of the daemon: those that it has, that are loaded into it from archives of this machine, and that it pulls.

use anyhow::{Context, Result, anyhow};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use container_images::Name;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::Method;
use node_images::REMEDY;
use serde_json::json;
use system_containers::{Image, Images, Report};
use tokio::io::AsyncRead;

use super::Docker;
use super::find;
use crate::api::{ImageInspected, Line};
use crate::client::{Sent, quoted, unless_missing};
use crate::progress::Pull;
use crate::{limits, progress};

/// The folder of archives while they are decompressed, in the data directory.
const SCRATCH: &str = "scratch";

impl Images for Docker {
    fn find<'a>(&'a self, name: &'a str, report: Report<'a>) -> BoxFuture<'a, Result<Image>> {
        async move {
            let found = self.available(name, report).await?;
            if let Some((id, image)) = self.images.lock().get(name)
                && *id == found.id
            {
                return Ok(image.clone());
            }
            let image = find::node(self, name, &found).await?;
            self.images.lock().insert(name.to_owned(), (found.id, image.clone()));
            Ok(image)
        }
        .boxed()
    }

    fn archive<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Box<dyn AsyncRead + Send + Unpin>>> {
        async move {
            self.available(name, &|_| ()).await?;
            let path = format!("/images/get?names={}", quoted(name));
            let archive = self.client.stream(Method::GET, &path, Sent::Nothing, limits::IMAGE).await;
            archive.with_context(|| format!("the image {name} cannot be packed"))
        }
        .boxed()
    }
}

impl Docker {
    /// Makes an image available to the daemon.
    async fn available(&self, text: &str, report: Report<'_>) -> Result<ImageInspected> {
        let name: Name = text.parse()?;
        if let Some(found) = self.image(text).await? {
            return Ok(found);
        }
        // Several machines want one image at the same time. Another one may be that of a registry that hangs.
        let _alone = self.fetches.lock(&name.to_string()).await;
        if let Some(found) = self.image(text).await? {
            return Ok(found);
        }
        let local = match self.load(&name, report).await {
            Ok(()) => None,
            Err(local) => {
                let pulled = self.pull(text, &name, report).await;
                let nowhere = |pull: anyhow::Error| {
                    anyhow!(
                        "{local:#}; {} does not have it, and cannot pull it: {pull:#}. To have {name}, {REMEDY}",
                        self.engine().name()
                    )
                };
                pulled.map_err(nowhere)?;
                Some(local)
            }
        };
        self.image(text).await?.with_context(|| match local {
            None => format!("{text} was loaded, and {} does not have it under this name: is it named by a digest? Pull it, or name it by a tag", self.engine().name()),
            Some(_) => format!("{text} was pulled, and removed by somebody else"),
        })
    }

    async fn image(&self, name: &str) -> Result<Option<ImageInspected>> {
        unless_missing(self.client.get(&format!("/images/{name}/json")).await)
    }

    /// Loads an image from an archive or a folder of this machine.
    async fn load(&self, name: &Name, report: Report<'_>) -> Result<()> {
        let archive = node_images::local(&self.sources, name, &self.data.join(SCRATCH)).await?;
        report(&format!("loading {name}"));
        let loaded = async {
            let call = "/images/load?quiet=1";
            let lines = self.client.stream(Method::POST, call, Sent::Archive(archive), limits::IMAGE).await?;
            progress::finish(lines, limits::IMAGE, &mut |_| ()).await
        };
        let loaded = tokio::time::timeout(limits::IMAGE, loaded).await;
        let cannot = || format!("{name} cannot be loaded into {}", self.engine().name());
        loaded.context("it takes too long").flatten().with_context(cannot)
    }

    async fn pull(&self, text: &str, name: &Name, report: Report<'_>) -> Result<()> {
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
        let lines = self.client.stream(Method::POST, &path, sent, limits::CONTAINER).await?;
        let mut pull = Pull::new(text);
        let mut each = |line: &Line| {
            if let Some(words) = pull.of_line(line) {
                report(&words);
            }
        };
        let pulled = progress::finish(lines, limits::SILENCE, &mut each).await;
        pulled.with_context(|| format!("{} pulls {name}", self.engine().name()))
    }
}
