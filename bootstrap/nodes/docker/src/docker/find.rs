//! What an image is, before a container is made of it. A container that never runs shows its files.

use anyhow::{Context, Result, ensure};
use http::Method;
use serde_json::json;
use system_containers::Image;
use tokio::io::AsyncReadExt;

use super::Docker;
use crate::api::{ImageInspected, Listed, Made};
use crate::body::LABEL_OWNER;
use crate::client::{Sent, quoted, unless_missing};
use crate::limits;

/// Label of a container that only shows the files of an image.
const LABEL_LOOK: &str = "firstlight.dev/look";
/// The file with the version of Kubernetes in kind's images.
const VERSION: &str = "/kind/version";
/// The programs of a node in the images of kind. One of each pair is enough.
const PROGRAMS: [[&str; 2]; 3] = [
    ["/usr/bin/kubeadm", "/usr/local/bin/kubeadm"],
    ["/usr/bin/kubelet", "/usr/local/bin/kubelet"],
    ["/usr/bin/containerd", "/usr/local/bin/containerd"],
];

/// Checks that an image is one of a node, and returns how a container of it is made.
///
/// # Errors
/// It is for another architecture, has no init, or lacks a program of a node.
pub(crate) async fn node(docker: &Docker, name: &str, found: &ImageInspected) -> Result<Image> {
    let own = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let architecture = &found.architecture;
    ensure!(
        architecture.is_empty() || architecture == own,
        "the image {name} is for the architecture {architecture}, and this machine has {own}: take the image for it"
    );
    ensure!(
        !found.config.entrypoint.is_empty() || !found.config.cmd.is_empty(),
        "the image {name} is not that of a node: it has no entrypoint and no command, so that nothing would be its init"
    );
    let labels = json!({LABEL_OWNER: docker.owner, LABEL_LOOK: "true"});
    let body = json!({"Image": found.id, "Labels": labels, "HostConfig": {"NetworkMode": "none"}});
    let made: Made = docker.client.post("/containers/create", body, limits::CONTAINER).await?;
    let looked = look(docker, name, &made.id).await;
    remove(docker, &made.id).await?;
    let kubernetes = looked.with_context(|| format!("the image {name} is not that of a node"))?;
    Ok(Image { id: name.to_owned(), kubernetes, ..Image::default() })
}

async fn look(docker: &Docker, name: &str, container: &str) -> Result<Option<String>> {
    let mut missing = Vec::new();
    for paths in PROGRAMS {
        let mut is_there = false;
        for path in paths {
            is_there = is_there || has(docker, container, path).await?;
        }
        if !is_there {
            missing.push(paths[0]);
        }
    }
    ensure!(
        missing.is_empty(),
        "it has no {}; take an image in the layout of kindest/node, or make one with `firstlight image node`",
        missing.join(", no ")
    );
    version(docker, container).await.with_context(|| format!("{VERSION} of {name} cannot be read"))
}

async fn has(docker: &Docker, container: &str, path: &str) -> Result<bool> {
    let call = format!("/containers/{container}/archive?path={}", quoted(path));
    let answer = docker.client.call(Method::HEAD, &call, Sent::Nothing, limits::CALL).await;
    Ok(unless_missing(answer)?.is_some())
}

/// Returns the version of Kubernetes that the image is made for; `None` if it does not say.
async fn version(docker: &Docker, container: &str) -> Result<Option<String>> {
    let call = format!("/containers/{container}/archive?path={}", quoted(VERSION));
    let opened = docker.client.stream(Method::GET, &call, Sent::Nothing, limits::CALL).await;
    let Some(archive) = unless_missing(opened)? else { return Ok(None) };
    let mut packed = Vec::new();
    archive.take(u64::try_from(limits::VERSION)?).read_to_end(&mut packed).await?;
    let mut archive = tar::Archive::new(packed.as_slice());
    let Some(entry) = archive.entries()?.next() else { return Ok(None) };
    let text = std::io::read_to_string(entry?)?;
    Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty()))
}

async fn remove(docker: &Docker, container: &str) -> Result<()> {
    let call = format!("/containers/{container}?force=1&v=1");
    unless_missing(docker.client.call(Method::DELETE, &call, Sent::Nothing, limits::CONTAINER).await)?;
    Ok(())
}

/// Removes what a process has left that ended in the middle.
pub(crate) async fn sweep(docker: &Docker) -> Result<()> {
    let labels = [format!("{LABEL_OWNER}={}", docker.owner), LABEL_LOOK.to_owned()];
    let filter = quoted(&json!({"label": labels}).to_string());
    let left: Vec<Listed> = docker.client.get(&format!("/containers/json?all=1&filters={filter}")).await?;
    for container in left {
        remove(docker, &container.id).await?;
    }
    Ok(())
}
