//! Types, their fields, and what these hold.

use crate::schema::Presence;

/// A type that a field has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldType {
    /// A text.
    Text,
    /// One of the texts of that enumeration ([`super::values`]).
    Enum(&'static str),
    /// An integer; of 64 bits, or of 32.
    Integer {
        /// Whether it has 64 bits.
        wide: bool,
    },
    /// A boolean.
    Boolean,
    /// Bytes, base64 in JSON.
    Bytes,
    /// `metav1.Time`
    Time,
    /// `metav1.MicroTime`
    MicroTime,
    /// `resource.Quantity`
    Quantity,
    /// `intstr.IntOrString`
    IntOrString,
    /// Any JSON (`runtime.RawExtension`).
    Raw,
    /// `metav1.FieldsV1`
    FieldsV1,
    /// A list of texts that is a message on the wire (`ExtraValue`).
    Texts,
    /// A type of that name.
    Named(&'static str),
    /// A list.
    List(Box<FieldType>),
    /// A map with texts as keys.
    Map(Box<FieldType>),
}

/// A field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its number on the wire.
    pub number: u64,
    /// Its name in JSON.
    pub name: &'static str,
    /// When it is written.
    pub presence: Presence,
    /// What it holds.
    pub ty: FieldType,
    /// Whether it is a list of unique scalars.
    pub set: bool,
    /// The keys of a list of objects that merges by them.
    pub keys: Vec<&'static str>,
    /// Whether it has one owner as a whole.
    pub atomic: bool,
    /// Whether its parts have owners of their own although its type says otherwise.
    pub granular: bool,
    /// How a strategic merge patch merges it.
    pub patch_strategy: Option<&'static str>,
    /// By which field a strategic merge patch tells items apart.
    pub patch_key: Option<&'static str>,
    /// Its default, as JSON.
    pub default: Option<&'static str>,
    /// Whether the API calls it required.
    pub required: bool,
}

/// A type with fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type {
    /// `core.v1.PodSpec`
    pub name: &'static str,
    /// Whether it has one owner as a whole.
    pub atomic: bool,
    /// In the order of declaration.
    pub fields: Vec<Field>,
}
