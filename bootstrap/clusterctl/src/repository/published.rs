//! The parts of a provider's URL.

/// The place in which a provider publishes its files, parsed from the provider's URL.
pub(super) struct Published<S> {
    /// The folder or project with the releases.
    pub source: S,
    /// The version in the URL, or `latest`.
    pub version: String,
    /// The name of the file with the components.
    pub components_file: String,
}

impl<S> Published<S> {
    /// Converts the folder or project with `convert`, and keeps the other parts.
    pub fn map<T>(self, convert: impl FnOnce(S) -> T) -> Published<T> {
        let Self { source, version, components_file } = self;
        Published { source: convert(source), version, components_file }
    }
}
