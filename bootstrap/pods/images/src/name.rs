//! The name of an image as a Pod has it, with its digest.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Error, Result};
use bundle::{Digest, Reference};

/// The name of an image: registry and repository, a tag, and a digest of its manifest or index. Without tag and digest, the tag is `latest`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Registry, repository and tag.
    pub reference: Reference,
    /// The digest, which counts more than the tag.
    pub digest: Option<Digest>,
}

impl FromStr for Name {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let digest = text.split_once('@').map(|(_, digest)| digest.parse::<Digest>()).transpose();
        let digest = digest.with_context(|| format!("{text:?} is no name of an image"))?;
        let mut reference: Reference = text.parse()?;
        if reference.tag.is_none() && digest.is_none() {
            reference.tag = Some("latest".to_owned());
        }
        Ok(Self { reference, digest })
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.digest {
            Some(digest) => write!(formatter, "{}@{digest}", self.reference),
            None => self.reference.fmt(formatter),
        }
    }
}
