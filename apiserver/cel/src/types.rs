//! The types of CEL.

use std::fmt;
use std::rc::Rc;

use machinery::schema::{Kind, Schema};

use crate::syntax::names::escape;

/// A type. `'s` is the lifetime of the schemas that describe objects.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Type<'s> {
    /// Any type, checked at runtime.
    Dyn,
    /// The type of an expression with an error. It fits everywhere, so that one mistake causes one error.
    Error,
    /// A simple type by its name in CEL.
    Simple(&'static str),
    /// The type `list(T)`.
    List(Rc<Type<'s>>),
    /// The type `map(K, V)`.
    Map(Rc<Type<'s>>, Rc<Type<'s>>),
    /// The type `optional_type(T)`.
    Optional(Rc<Type<'s>>),
    /// The type `type(T)` of a type.
    Kind(Rc<Type<'s>>),
    /// An object with the properties of a schema. The flag tells whether it also has `apiVersion`, `kind` and
    /// `metadata`.
    Object(Shape<'s>, bool),
    /// The admission request, whose fields have the names of the Go type. Only properties of schemas have escaped names.
    Request(Shape<'static>),
    /// The `metadata` that rules can read, which has `name` and `generateName` only.
    Metadata,
    /// A type parameter of a declaration.
    Param(char),
}

/// A schema that compares by its structure.
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
            Type::Object(..) | Type::Request(_) | Type::Metadata => f.write_str("object"),
            Type::Param(name) => write!(f, "{name}"),
        }
    }
}

/// Returns the simple type of that name.
pub(crate) const fn simple<'s>(name: &'static str) -> Type<'s> {
    Type::Simple(name)
}

impl<'s> Type<'s> {
    /// Returns the type of the values of a schema, or `None` if rules cannot read them. `root` is true for the whole
    /// object.
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

    /// Returns the type of a field, or `None` if the type does not have the field.
    pub fn field(&self, field: &str, property: &str) -> Option<Type<'s>> {
        match self {
            Type::Object(_, true) if field == "apiVersion" || field == "kind" => Some(simple("string")),
            Type::Object(_, true) if field == "metadata" => Some(Type::Metadata),
            Type::Object(Shape(schema), _) => schema
                .properties
                .get(property)
                .filter(|_| escape(property) == field)
                .and_then(|schema| Type::of(schema, false)),
            Type::Request(Shape(schema)) => Type::of(schema.properties.get(field)?, false),
            Type::Metadata => matches!(field, "name" | "generateName").then(|| simple("string")),
            _ => None,
        }
    }

    /// Returns whether all values of the type have the size 1.
    pub fn is_scalar(&self) -> bool {
        const SCALARS: [&str; 6] =
            ["bool", "int", "uint", "double", "google.protobuf.Duration", "google.protobuf.Timestamp"];
        match self {
            Type::Simple(name) => SCALARS.contains(name),
            Type::Optional(inner) => inner.is_scalar(),
            _ => false,
        }
    }

    /// Returns whether the values are strings or bytes.
    pub fn is_text(&self) -> bool {
        matches!(self, Type::Simple("string" | "bytes"))
    }

    pub(crate) fn is_nullable(&self) -> bool {
        match self {
            Type::Object(..) | Type::Request(_) | Type::Metadata | Type::Optional(_) => true,
            Type::Simple(name) => name.contains('.') || *name == "null_type",
            _ => false,
        }
    }
}
