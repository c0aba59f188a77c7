//! Paths of the distribution specification.

use bundle::Digest;

use super::problem::Problem;

/// The longest name of a repository that is looked up.
const NAME_LENGTH: usize = 255;

/// What a request is about.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target<'a> {
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
    pub(super) fn parse(path: &'a str) -> Result<Self, Problem> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_specification() {
        let digest = Digest::of(b"");
        let blob = format!("a/blobs/{digest}");
        let referrers = format!("registry.k8s.io/a/referrers/{digest}");
        let long = |length| format!("{}/tags/list", "a".repeat(length));
        let (most, more) = (long(NAME_LENGTH), long(NAME_LENGTH + 1));
        for (path, expected) in [
            ("", Some(Target::Root)),
            ("_catalog", Some(Target::Catalogue)),
            ("a/tags/list", Some(Target::Tags("a"))),
            ("a/manifests/1", Some(Target::Manifest("a", "1"))),
            ("a/manifests/manifests/1", Some(Target::Manifest("a/manifests", "1"))),
            (&blob, Some(Target::Blob("a", digest))),
            (&referrers, Some(Target::Referrers("registry.k8s.io/a", digest))),
            ("a/blobs/uploads/", Some(Target::Upload)),
            (&most, Some(Target::Tags(&most[..NAME_LENGTH]))),
            (&more, None),
            ("a/blobs/sha256:00", None),
            ("manifests/1", None),
            ("a", None),
            ("a b/tags/list", None),
            ("/tags/list", None),
            ("a/other/1", None),
        ] {
            assert_eq!(Target::parse(path).ok(), expected, "{path}");
        }
    }
}
