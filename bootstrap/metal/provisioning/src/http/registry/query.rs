//! The parameters of a request.

use super::percent_decoded;

/// The parameters that the registry knows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Query {
    /// `ns`: the registry that this one is a mirror of, for example `registry.k8s.io`.
    pub(super) registry: Option<String>,
    /// `n`: the largest number of names in a list.
    pub(super) most: Option<String>,
    /// `last`: the name after which a list begins.
    pub(super) last: Option<String>,
    /// `artifactType`: the type of referrers.
    pub(super) artifact_type: Option<String>,
}

impl Query {
    pub(super) fn parse(text: &str) -> Self {
        let mut query = Self::default();
        for part in text.split('&') {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let value = percent_decoded(value).filter(|value| !value.is_empty());
            match key {
                "ns" => query.registry = value,
                "n" => query.most = value,
                "last" => query.last = value,
                "artifactType" => query.artifact_type = value,
                _ => {}
            }
        }
        query
    }
}
