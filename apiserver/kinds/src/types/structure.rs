//! The structure of types: fields and their types.

use machinery::schema::Presence;

/// The type of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldType {
    /// A string.
    Text,
    /// A string of the enumeration of that name ([`super::index::values`]).
    Enum(&'static str),
    /// An integer of 32 or 64 bits.
    Integer {
        /// Whether the integer has 64 bits.
        wide: bool,
    },
    /// A boolean.
    Boolean,
    /// Bytes, which are base64 in JSON.
    Bytes,
    /// The type `metav1.Time`.
    Time,
    /// The type `metav1.MicroTime`.
    MicroTime,
    /// The type `resource.Quantity`.
    Quantity,
    /// The type `intstr.IntOrString`.
    IntOrString,
    /// Any JSON (`runtime.RawExtension`).
    Raw,
    /// The type `metav1.FieldsV1`.
    FieldsV1,
    /// A list of strings that is a message on the wire (`ExtraValue`).
    Texts,
    /// The type of that name.
    Named(&'static str),
    /// A list with items of that type.
    List(Box<FieldType>),
    /// A map from strings to values of that type.
    Map(Box<FieldType>),
}

/// A field of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The field number on the wire.
    pub number: u64,
    /// The name in JSON.
    pub name: &'static str,
    /// When the field is encoded.
    pub presence: Presence,
    /// The type of the field.
    pub ty: FieldType,
    /// Whether the field is a list of unique scalars.
    pub set: bool,
    /// The keys of a list of type `map`.
    pub keys: Vec<&'static str>,
    /// Whether the field has one owner as a whole.
    pub atomic: bool,
    /// Whether the parts of the field have separate owners although its type is atomic.
    pub granular: bool,
    /// The strategy of strategic merge patches.
    pub patch_strategy: Option<&'static str>,
    /// The merge key of strategic merge patches.
    pub patch_key: Option<&'static str>,
    /// The default as JSON.
    pub default: Option<&'static str>,
    /// Whether the API declares the field as required.
    pub required: bool,
}

/// A type with fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type {
    /// The name of the type, for example `core.v1.PodSpec`.
    pub name: &'static str,
    /// Whether a value has one owner as a whole.
    pub atomic: bool,
    /// The fields in the order of declaration.
    pub fields: Vec<Field>,
}
