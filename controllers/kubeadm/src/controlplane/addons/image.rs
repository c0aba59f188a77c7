//! Images with other repositories and tags. Pure functions.

/// An image in its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Image<'a> {
    /// Registry and path, for example `registry.k8s.io/coredns`; may be empty.
    pub repository: &'a str,
    /// The last part of the path.
    pub name: &'a str,
    /// The tag; `None` if there is none.
    pub tag: Option<&'a str>,
}

impl<'a> Image<'a> {
    /// Splits an image; a digest is left out.
    pub fn parse(image: &'a str) -> Self {
        let image = image.split('@').next().unwrap_or(image);
        let (repository, last) = image.rsplit_once('/').unwrap_or(("", image));
        match last.split_once(':') {
            Some((name, tag)) => Self { repository, name, tag: Some(tag) },
            None => Self { repository, name: last, tag: None },
        }
    }

    /// Returns the image with another repository and tag, where they are given.
    pub fn with(&self, repository: Option<&str>, tag: Option<&str>) -> String {
        let repository = repository.filter(|text| !text.is_empty()).unwrap_or(self.repository);
        let repository = if repository.is_empty() { String::new() } else { format!("{repository}/") };
        match tag.or(self.tag) {
            Some(tag) => format!("{repository}{}:{tag}", self.name),
            None => format!("{repository}{}", self.name),
        }
    }
}
