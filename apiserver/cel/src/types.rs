//! Types of expressions, and what schemas are as types.

use std::fmt;
use std::rc::Rc;

use machinery::schema::{Kind, Schema};

use crate::syntax::names::escape;

/// A type. `'s` is the schema that objects are typed by.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Type<'s> {
    /// Anything; checked at run time.
    Dyn,
    /// What an error leaves behind; fits everywhere, so one mistake is reported once.
    Error,
    /// A simple type, by its name in CEL.
    Simple(&'static str),
    /// `list(T)`
    List(Rc<Type<'s>>),
    /// `map(K, V)`
    Map(Rc<Type<'s>>, Rc<Type<'s>>),
    /// `optional_type(T)`
    Optional(Rc<Type<'s>>),
    /// `type(T)`
    Kind(Rc<Type<'s>>),
    /// An object with the properties of a schema; whether it has `apiVersion`, `kind`, `metadata` too.
    Object(Shape<'s>, bool),
    /// The `metadata` that rules can see: name and generateName.
    Metadata,
    /// A type parameter of a declaration.
    Param(char),
}

/// A schema, compared by its structure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape<'s>(pub &'s Schema);

impl PartialEq for Shape<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0) || self.0.structure == other.0.structure
    }
}

impl fmt::Display for Type<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Dyn => f.write_str("dyn"),
            Type::Error => f.write_str("!error!"),
            Type::Simple("google.protobuf.Duration") => f.write_str("duration"),
            Type::Simple("google.protobuf.Timestamp") => f.write_str("timestamp"),
            Type::Simple("null_type") => f.write_str("null"),
            Type::Simple(name) => f.write_str(name),
            Type::List(item) => write!(f, "list({item})"),
            Type::Map(key, value) => write!(f, "map({key}, {value})"),
            Type::Optional(inner) => write!(f, "optional_type({inner})"),
            Type::Kind(inner) => write!(f, "type({inner})"),
            Type::Object(..) | Type::Metadata => f.write_str("object"),
            Type::Param(name) => write!(f, "{name}"),
        }
    }
}

/// A simple type.
pub(crate) const fn simple<'s>(name: &'static str) -> Type<'s> {
    Type::Simple(name)
}

impl<'s> Type<'s> {
    /// The type of values of a schema; `None` where rules cannot see them. `root` is for the whole object.
    pub fn of(schema: &'s Schema, root: bool) -> Option<Type<'s>> {
        if schema.int_or_string {
            return Some(Type::Dyn);
        }
        Some(match schema.kind? {
            Kind::Boolean => simple("bool"),
            Kind::Integer => simple("int"),
            Kind::Number => simple("double"),
            Kind::String => match schema.validation.format.as_deref() {
                Some("byte") => simple("bytes"),
                Some("duration") => simple("google.protobuf.Duration"),
                Some("date" | "date-time") => simple("google.protobuf.Timestamp"),
                _ => simple("string"),
            },
            Kind::Array => Type::List(Rc::new(Type::of(schema.items.as_deref()?, false)?)),
            Kind::Object => match &schema.additional_properties {
                Some(values) => Type::Map(Rc::new(simple("string")), Rc::new(Type::of(values, false)?)),
                None => Type::Object(Shape(schema), root || schema.embedded_resource),
            },
        })
    }

    /// The type of a field; `None` when there is no such field.
    pub fn field(&self, field: &str, property: &str) -> Option<Type<'s>> {
        match self {
            Type::Object(_, true) if field == "apiVersion" || field == "kind" => Some(simple("string")),
            Type::Object(_, true) if field == "metadata" => Some(Type::Metadata),
            Type::Object(Shape(schema), _) => schema
                .properties
                .get(property)
                .filter(|_| escape(property) == field)
                .and_then(|schema| Type::of(schema, false)),
            Type::Metadata => matches!(field, "name" | "generateName").then(|| simple("string")),
            _ => None,
        }
    }

    /// Whether values have one size only.
    pub fn is_scalar(&self) -> bool {
        const SCALARS: [&str; 6] =
            ["bool", "int", "uint", "double", "google.protobuf.Duration", "google.protobuf.Timestamp"];
        match self {
            Type::Simple(name) => SCALARS.contains(name),
            Type::Optional(inner) => inner.is_scalar(),
            _ => false,
        }
    }

    /// Whether values are strings or bytes.
    pub fn is_text(&self) -> bool {
        matches!(self, Type::Simple("string" | "bytes"))
    }

    pub(crate) fn is_nullable(&self) -> bool {
        match self {
            Type::Object(..) | Type::Metadata | Type::Optional(_) => true,
            Type::Simple(name) => name.contains('.') || *name == "null_type",
            _ => false,
        }
    }
}
