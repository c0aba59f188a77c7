//! Names of container images.

use std::fmt;
use std::str::FromStr;

use anyhow::{Error, Result, ensure};

/// The registry of names without one.
const DEFAULT_REGISTRY: &str = "docker.io";
/// The longest name of a repository, and the longest tag, by the distribution specification.
const REPOSITORY_LENGTH: usize = 255;
const TAG_LENGTH: usize = 128;

/// The name of an image with its registry, as `registry.k8s.io/pause:3.10`. A name with a digest has no tag.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// The registry and the path, for example `docker.io/library/nginx`.
    pub repository: String,
    /// The tag; `None` if the name has a digest, or neither.
    pub tag: Option<String>,
}

impl Reference {
    /// Parses a name in the form that users write: `nginx` is `docker.io/library/nginx` without a tag.
    ///
    /// # Errors
    /// The name is invalid.
    fn parse(text: &str) -> Result<Self> {
        let (name, digest) = match text.split_once('@') {
            Some((name, digest)) => (name, Some(digest)),
            None => (text, None),
        };
        if let Some(digest) = digest {
            digest.parse::<crate::digest::Digest>()?;
        }
        let (name, tag) = match name.rsplit_once(':') {
            Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
            _ => (name, None),
        };
        let (registry, path) = match name.split_once('/') {
            Some((first, path)) if first.contains(['.', ':']) || first == "localhost" => (first, path),
            _ => (DEFAULT_REGISTRY, name),
        };
        let registry = if registry == "index.docker.io" { DEFAULT_REGISTRY } else { registry };
        let library = if registry == DEFAULT_REGISTRY && !path.contains('/') { "library/" } else { "" };
        let repository = format!("{registry}/{library}{path}");
        let is_host = registry.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-:_[]".contains(&byte));
        ensure!(
            is_host && is_repository(path) && repository.len() <= REPOSITORY_LENGTH && tag.is_none_or(is_tag),
            "{text:?} is no name of an image; write REGISTRY/NAME:TAG, as registry.k8s.io/pause:3.10"
        );
        Ok(Self { repository, tag: tag.map(str::to_owned) })
    }
}

impl FromStr for Reference {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tag {
            Some(tag) => write!(formatter, "{}:{tag}", self.repository),
            None => formatter.write_str(&self.repository),
        }
    }
}

/// Returns whether `path` is the path of a repository: parts of lower case letters and digits with separators between them.
pub(crate) fn is_repository(path: &str) -> bool {
    let is_part = |part: &str| {
        let ends =
            |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        let is_inner =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
        ends(part.as_bytes().first()) && ends(part.as_bytes().last()) && part.bytes().all(is_inner)
    };
    path.len() <= REPOSITORY_LENGTH && path.split('/').all(is_part)
}

/// Returns whether `text` is a tag.
pub(crate) fn is_tag(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut bytes = text.bytes();
    bytes.next().is_some_and(is_word)
        && bytes.all(|byte| is_word(byte) || b".-".contains(&byte))
        && text.len() <= TAG_LENGTH
}
