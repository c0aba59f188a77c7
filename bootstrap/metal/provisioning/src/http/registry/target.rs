//! Paths of the distribution specification.

use bundle::Digest;

use super::problem::Problem;

/// The longest name of a repository that is looked up.
pub const NAME_LENGTH: usize = 255;

/// What a request is about.
#[derive(Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// `/v2/`, by which clients recognise a registry.
    Root,
    /// All repositories.
    Catalogue,
    /// The tags of a repository.
    Tags(&'a str),
    /// A manifest of a repository by tag or digest.
    Manifest(&'a str, &'a str),
    /// A config or layer.
    Blob(&'a str, Digest),
    /// Manifests about another manifest.
    Referrers(&'a str, Digest),
    /// An upload, which is a write with each method.
    Upload,
}

impl<'a> Target<'a> {
    /// Parses the part of a path after `/v2/`. The name of a repository may itself have any number of parts.
    ///
    /// # Errors
    /// The answer that says what is wrong with the path.
    pub fn parse(path: &'a str) -> Result<Self, Problem> {
        if path.is_empty() {
            return Ok(Self::Root);
        }
        if path == "_catalog" {
            return Ok(Self::Catalogue);
        }
        if path.contains("/blobs/uploads/") || path.ends_with("/blobs/uploads") {
            return Ok(Self::Upload);
        }
        let digest = |text: &str| text.parse().map_err(|_| Problem::DigestInvalid(text.to_owned()));
        if let Some(name) = path.strip_suffix("/tags/list") {
            return checked(name).map(Self::Tags);
        }
        let (before, last) = path.rsplit_once('/').ok_or(Problem::NameInvalid)?;
        let (name, kind) = before.rsplit_once('/').ok_or(Problem::NameInvalid)?;
        let name = checked(name)?;
        match kind {
            "manifests" => Ok(Self::Manifest(name, last)),
            "blobs" => Ok(Self::Blob(name, digest(last)?)),
            "referrers" => Ok(Self::Referrers(name, digest(last)?)),
            _ => Err(Problem::NameInvalid),
        }
    }
}

/// Returns a name that can be that of a repository, also with a registry in front of it.
fn checked(name: &str) -> Result<&str, Problem> {
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/:".contains(&byte);
    let good = !name.is_empty() && name.len() <= NAME_LENGTH && name.bytes().all(is_good);
    if good { Ok(name) } else { Err(Problem::NameInvalid) }
}
