//! Images, as the user of system containers knows them.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncRead;

/// Finds images: on this machine, and in registries.
pub trait Images: Send + Sync {
    /// Makes an image available. What is there already is not fetched again. `report` is told, in words, how far it is.
    ///
    /// # Errors
    /// The name is none of an image, no source has the image, or it is damaged or not that of a node; the error says where it was looked for.
    fn find<'a>(&'a self, name: &'a str, report: Report<'a>) -> BoxFuture<'a, Result<Image>>;

    /// Returns an image, of a node or any other, as an archive that `ctr images import` reads, with this name in it.
    ///
    /// # Errors
    /// No source has the image; reading fails with an error if it is damaged.
    fn archive<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Box<dyn AsyncRead + Send + Unpin>>>;
}

/// An image that is available.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// What [`crate::Spec::image`] takes: without a container runtime the folder with the unpacked image.
    pub id: String,
    /// The init and its arguments: the entrypoint and the command of the image's config, as `/usr/local/bin/entrypoint /sbin/init`. Empty if the
    /// config has none, or if the container runtime knows it itself.
    #[serde(default)]
    pub command: Vec<String>,
    /// The variables of the image's config.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The version of Kubernetes that the image is made for (the file `/kind/version` of kind's images), as `v1.36.3`; `None` if it does not say.
    #[serde(default)]
    pub kubernetes: Option<String>,
}

impl Image {
    /// Checks that the image, whose name is `name`, is made for this version of Kubernetes. An image that does not say one is accepted.
    ///
    /// # Errors
    /// It is made for another version.
    pub fn check_kubernetes(&self, name: &str, wanted: &str) -> Result<()> {
        let Some(own) = &self.kubernetes else { return Ok(()) };
        let bare = |version: &str| version.trim().trim_start_matches('v').to_owned();
        ensure!(
            bare(own) == bare(wanted),
            "the image {name} is made for Kubernetes {own}, and {wanted} is wanted: take the image of that version, as kindest/node:v{}",
            bare(wanted)
        );
        Ok(())
    }
}

/// Is told how far something is.
pub type Report<'a> = &'a (dyn Fn(&str) + Send + Sync);
