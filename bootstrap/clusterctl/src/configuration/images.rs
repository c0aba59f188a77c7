//! Replaces the images that a provider's files name.

use serde_json::Value;

use crate::{Error, Result};

/// The image changes that the configuration asks for, by component and image.
#[derive(Debug, Clone)]
pub struct Images(Value);

/// The parts of an image reference.
struct Image {
    repository: String,
    name: String,
    tag: Option<String>,
    digest: Option<String>,
}

impl Images {
    pub(super) fn new(section: &Value) -> Self {
        Self(section.clone())
    }

    /// The image that a component (`infrastructure-aws`, `cert-manager`) must use instead of `image`.
    ///
    /// Settings for `all`, for the component and for the image of the component are combined field by field; later ones take
    /// precedence.
    ///
    /// # Errors
    /// The image has no registry.
    pub fn altered(&self, component: &str, image: &str) -> Result<String> {
        let mut parts = parse(image)?;
        if self.0.is_null() {
            return Ok(image.to_owned());
        }
        let original = parts.name.clone();
        for key in ["all".to_owned(), component.to_owned(), format!("{component}/{original}")] {
            let field = |name: &str| {
                let value = self.0.get(&key)?.get(name)?;
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                Some(text).filter(|text| !text.is_empty())
            };
            if let Some(repository) = field("repository") {
                parts.repository = repository.strip_suffix('/').unwrap_or(&repository).to_owned();
            }
            if let Some(name) = field("name") {
                parts.name = name;
            }
            if let Some(tag) = field("tag") {
                parts.tag = Some(tag);
            }
        }
        let tag = parts.tag.map(|tag| format!(":{tag}")).unwrap_or_default();
        let digest = parts.digest.map(|digest| format!("@{digest}")).unwrap_or_default();
        Ok(format!("{}/{}{tag}{digest}", parts.repository, parts.name))
    }
}

fn parse(image: &str) -> Result<Image> {
    let failed = |reason: &str| Err(Error::invalid(format!("couldn't parse image name: {reason}")));
    let (rest, digest) = match image.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest.to_owned())),
        None => (image, None),
    };
    let Some((repository, last)) = rest.rsplit_once('/') else {
        return failed("repository name must be canonical");
    };
    let registry = repository.split('/').next().unwrap_or_default();
    if !(registry.contains(['.', ':']) || registry == "localhost") {
        return failed("repository name must be canonical");
    }
    let (name, tag) = match last.split_once(':') {
        Some((name, tag)) => (name, Some(tag.to_owned())),
        None => (last, None),
    };
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    if name.is_empty() || !name.chars().all(allowed) || tag.as_deref() == Some("") {
        return failed("invalid reference format");
    }
    Ok(Image { repository: repository.to_owned(), name: name.to_owned(), tag, digest })
}
