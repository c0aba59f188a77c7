//! What an image is, before a container is made of it. A container that never runs shows its files.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use http::Method;
use node_images::{PATH, PROGRAMS, lacks, places};
use serde_json::json;
use system_containers::Image;
use tokio::io::AsyncReadExt;

use super::containers::Containers;
use crate::api::{ImageInspected, Made};
use crate::body::LABEL_OWNER;
use crate::client::{Client, Sent, quoted, unless_missing};
use crate::limits;

/// Label of a container that only shows the files of an image.
const LABEL_LOOK: &str = "firstlight.dev/look";
/// The lock in the data directory that a process has while it reads such a container. Nobody removes those of others then.
const LOCK: &str = "look.lock";
/// The file with the version of Kubernetes in kind's images.
const VERSION: &str = "/kind/version";

/// Checks that an image is one of a node, and returns how a container of it is made.
///
/// # Errors
/// It is for another architecture, has no init, or lacks a program of a node.
pub(super) async fn node(
    containers: &Containers,
    data: &Path,
    name: &str,
    found: &ImageInspected,
) -> Result<Image> {
    let (own, architecture) = (bundle::architecture(), &found.architecture);
    ensure!(
        architecture.is_empty() || architecture == own,
        "the image {name} is for the architecture {architecture}, and this machine has {own}: take the image for it"
    );
    ensure!(
        !found.config.entrypoint.is_empty() || !found.config.cmd.is_empty(),
        "the image {name} is not that of a node: it has no entrypoint and no command, so that nothing would be its init"
    );
    let path = found.config.env.iter().find_map(|variable| variable.strip_prefix("PATH="));
    let _lock = locked(data).await?;
    let labels = json!({LABEL_OWNER: containers.owner(), LABEL_LOOK: "true"});
    let body = json!({"Image": found.id, "Labels": labels, "HostConfig": {"NetworkMode": "none"}});
    let made: Made = containers.client().post("/containers/create", body, limits::CONTAINER).await?;
    let looked = look(containers, name, path.unwrap_or(PATH), &made.id).await;
    containers.client().remove_container(&made.id).await?;
    Ok(Image { id: name.to_owned(), kubernetes: looked?, ..Image::default() })
}

/// Waits until no other process removes what was left.
async fn locked(data: &Path) -> Result<File> {
    loop {
        if let Some(lock) = files::try_lock_shared(&data.join(LOCK))? {
            return Ok(lock);
        }
        tokio::time::sleep(limits::LOOK_AGAIN).await;
    }
}

/// Returns the version of Kubernetes of an image that has all programs of a node.
async fn look(containers: &Containers, name: &str, path: &str, container: &str) -> Result<Option<String>> {
    let mut missing = Vec::new();
    for program in PROGRAMS {
        if !has(containers.client(), container, program, path).await? {
            missing.push(program);
        }
    }
    let version = version(containers.client(), container).await;
    let version = version.with_context(|| format!("{VERSION} of the image {name} cannot be read"))?;
    // A container that is gone has no files either.
    ensure!(
        containers.read(container).await?.is_some(),
        "somebody has removed the container that shows the files of the image {name}, meanwhile"
    );
    lacks(&missing, path).with_context(|| format!("the image {name} is not that of a node"))?;
    Ok(version)
}

async fn has(client: &Client, container: &str, program: &str, path: &str) -> Result<bool> {
    for place in places(program, path) {
        let call = format!("/containers/{container}/archive?path={}", quoted(&place));
        let answer = client.call(Method::HEAD, &call, Sent::Nothing, limits::CALL).await;
        if unless_missing(answer)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the version of Kubernetes that the image is made for; `None` if it does not say.
async fn version(client: &Client, container: &str) -> Result<Option<String>> {
    let call = format!("/containers/{container}/archive?path={}", quoted(VERSION));
    let opened = client.stream(Method::GET, &call, Sent::Nothing, limits::CALL).await;
    let Some(archive) = unless_missing(opened)? else { return Ok(None) };
    let mut packed = Vec::new();
    archive.take(u64::try_from(limits::VERSION)?).read_to_end(&mut packed).await?;
    let mut archive = tar::Archive::new(packed.as_slice());
    let Some(entry) = archive.entries()?.next() else { return Ok(None) };
    let text = std::io::read_to_string(entry?)?;
    Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty()))
}

/// Removes what a process has left that ended in the middle, unless another one is reading such containers.
pub(super) async fn sweep(containers: &Containers, data: &Path) -> Result<()> {
    let Some(_lock) = files::try_lock(&data.join(LOCK))? else { return Ok(()) };
    let labels = [format!("{LABEL_OWNER}={}", containers.owner()), LABEL_LOOK.to_owned()];
    for container in containers.client().containers(&json!({"label": labels})).await? {
        containers.client().remove_container(&container.id).await?;
    }
    Ok(())
}
