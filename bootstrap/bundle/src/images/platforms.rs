//! The platforms whose images are taken.

use std::str::FromStr;

use anyhow::{Context, Error, Result, bail};

use crate::descriptor::{Descriptor, Platform};

/// A set of platforms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platforms(Vec<Platform>);

impl Platforms {
    /// Returns Linux on the architecture of this machine.
    pub fn own() -> Self {
        Self(vec![Platform {
            architecture: architecture().to_owned(),
            os: "linux".to_owned(),
            variant: None,
        }])
    }

    /// Returns all platforms.
    pub fn all() -> Self {
        Self(Vec::new())
    }

    /// Returns the platforms of both sets.
    pub fn and(mut self, other: Self) -> Self {
        if self.0.is_empty() || other.0.is_empty() {
            return Self::all();
        }
        self.0.extend(other.0);
        self
    }

    /// Returns whether images for `platform` are taken. Variants count only if both have one.
    pub fn has(&self, platform: &Platform) -> bool {
        let equal = |wanted: &Platform| {
            let both = wanted.variant.as_ref().zip(platform.variant.as_ref());
            wanted.os == platform.os
                && wanted.architecture == platform.architecture
                && both.is_none_or(|(wanted, found)| wanted == found)
        };
        self.0.is_empty() || self.0.iter().any(equal)
    }

    /// Returns the first image of an index that is for one of these platforms.
    ///
    /// # Errors
    /// No image is for these platforms; the message names the platforms of the images.
    pub fn choose<'a>(&self, manifests: &'a [Descriptor]) -> Result<&'a Descriptor> {
        let images = || manifests.iter().filter(|child| child.attests().is_none());
        let is_wanted =
            |child: &&Descriptor| child.platform.as_ref().is_none_or(|platform| self.has(platform));
        images().find(is_wanted).with_context(|| {
            let others = names(images().filter_map(|child| child.platform.as_ref()));
            format!("there is no image for {}, but for {others}", self.names())
        })
    }

    /// Returns the names of the platforms.
    pub(crate) fn names(&self) -> String {
        if self.0.is_empty() { "any platform".to_owned() } else { names(self.0.iter()) }
    }
}

impl FromStr for Platforms {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "all" {
            return Ok(Self::all());
        }
        let parts: Vec<&str> = text.split('/').collect();
        let (os, architecture, variant) = match parts.as_slice() {
            [os, architecture] => (os, architecture, None),
            [os, architecture, variant] => (os, architecture, Some((*variant).to_owned())),
            _ => bail!("{text:?} is no platform; write linux/amd64, linux/arm64 or all"),
        };
        if parts.iter().any(|part| part.is_empty()) {
            bail!("{text:?} is no platform; write linux/amd64, linux/arm64 or all");
        }
        Ok(Self(vec![Platform { architecture: (*architecture).to_owned(), os: (*os).to_owned(), variant }]))
    }
}

/// Returns the names of platforms, with commas between them.
pub(super) fn names<'a>(platforms: impl Iterator<Item = &'a Platform>) -> String {
    platforms.map(Platform::name).collect::<Vec<_>>().join(", ")
}

/// Returns the architecture of this machine, as images name it.
pub fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
