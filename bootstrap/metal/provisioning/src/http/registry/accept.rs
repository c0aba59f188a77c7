//! The media types that a client accepts.

use http::header::{ACCEPT, HeaderMap};

/// The media types of all `Accept` headers.
pub(super) struct Accept(Vec<String>);

impl Accept {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let types = values.flat_map(|value| value.split(','));
        let types = types.map(|one| one.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
        Self(types.filter(|one| !one.is_empty()).collect())
    }

    /// Returns whether the client accepts a media type. Without the header it accepts everything.
    pub(super) fn has(&self, media_type: &str) -> bool {
        let is_it = |one: &String| one == media_type || one == "*/*" || one == "application/*";
        self.0.is_empty() || self.0.iter().any(is_it)
    }
}
