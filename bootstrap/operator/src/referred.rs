//! What an object may refer to by name.

/// Something that the object may refer to.
#[derive(Clone)]
pub enum Referred<T> {
    /// The object refers to nothing.
    Unasked,
    /// There is no such object; its namespace and name.
    Missing(String),
    /// The object, as it is now.
    Found(T),
}
