//! The parts of a provider's URL.

/// Where a provider publishes its files, as its URL says.
pub(super) struct Published<S> {
    /// The folder or project.
    pub source: S,
    /// The version in the URL, or `latest`.
    pub version: String,
    /// The name of the file with the components.
    pub components_file: String,
}

impl<S> Published<S> {
    /// Converts the source.
    pub fn map<T>(self, convert: impl FnOnce(S) -> T) -> Published<T> {
        let Self { source, version, components_file } = self;
        Published { source: convert(source), version, components_file }
    }
}
