//! The types of CEL.

use std::fmt;
use std::rc::Rc;

use machinery::schema::{Kind, Schema};

use crate::declared::{self, Fields};
use crate::limits::MAX_CEL_DEPTH;
use crate::syntax::names::names_property;

/// A type. `'s` is the lifetime of the schemas that describe objects.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Type<'s> {
    /// Any type, checked at runtime.
    Dyn,
    /// A type that nothing decides yet, such as that of the items of `[]`. It becomes the type that it has to fit.
    Open,
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
    /// The variables of a policy.
    Variables(Fields<'s>),
    /// An object that an expression makes, by the name of its type.
    Made(Rc<str>),
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
            Type::Dyn | Type::Open => f.write_str("dyn"),
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
            Type::Variables(_) => f.write_str("kubernetes.variables"),
            Type::Made(name) => f.write_str(name),
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
                .filter(|_| names_property(field, property))
                .and_then(|schema| Type::of(schema, false)),
            Type::Simple(name) => declared::field(name, field),
            Type::Variables(fields) => fields.get(field).cloned(),
            Type::Made(name) => declared::field_made(name, field),
            Type::Metadata => matches!(field, "name" | "generateName").then(|| simple("string")),
            _ => None,
        }
    }

    /// Returns the type in which all of both types that is open is decided by the other one, or `None` if they differ.
    pub fn unified(&self, other: &Type<'s>) -> Option<Type<'s>> {
        let both = |a: &Rc<Type<'s>>, b: &Rc<Type<'s>>| a.unified(b).map(Rc::new);
        match (self, other) {
            (Type::Open, decided) | (decided, Type::Open) => Some(decided.clone()),
            (Type::List(a), Type::List(b)) => both(a, b).map(Type::List),
            (Type::Optional(a), Type::Optional(b)) => both(a, b).map(Type::Optional),
            (Type::Map(key, value), Type::Map(key2, value2)) => {
                Some(Type::Map(both(key, key2)?, both(value, value2)?))
            }
            (a, b) => (a == b).then(|| a.clone()),
        }
    }

    /// Returns the type, or `dyn` if it is nested more deeply than values may be. Walks over types are recursive.
    pub fn limited(self) -> Type<'s> {
        if self.levels() > MAX_CEL_DEPTH { Type::Dyn } else { self }
    }

    /// Keys of maps have no levels.
    fn levels(&self) -> usize {
        match self {
            Type::List(inner) | Type::Optional(inner) | Type::Kind(inner) | Type::Map(_, inner) => {
                1 + inner.levels()
            }
            _ => 0,
        }
    }

    fn is_open(&self) -> bool {
        match self {
            Type::Open => true,
            Type::List(inner) | Type::Optional(inner) => inner.is_open(),
            Type::Map(key, value) => key.is_open() || value.is_open(),
            _ => false,
        }
    }

    /// Returns the type with `dyn` for all that is open.
    pub fn decided(self) -> Type<'s> {
        let inner = |inner: Rc<Type<'s>>| Rc::new((*inner).clone().decided());
        match self {
            decided if !decided.is_open() => decided,
            Type::Open => Type::Dyn,
            Type::List(item) => Type::List(inner(item)),
            Type::Optional(item) => Type::Optional(inner(item)),
            Type::Map(key, value) => Type::Map(inner(key), inner(value)),
            other => other,
        }
    }

    /// Returns whether the type has fields with types of their own.
    pub fn has_fields(&self) -> bool {
        match self {
            Type::Object(..) | Type::Variables(_) | Type::Metadata | Type::Made(_) => true,
            Type::Simple(name) => declared::has_fields(name),
            _ => false,
        }
    }

    /// Returns whether the type is known at evaluation only.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Type::Dyn | Type::Open | Type::Error)
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
            Type::Object(..) | Type::Variables(_) | Type::Metadata | Type::Optional(_) | Type::Made(_) => {
                true
            }
            Type::Simple(name) => name.contains('.') || *name == "null_type",
            _ => false,
        }
    }
}
