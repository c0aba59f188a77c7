//! The types of CEL and the declarations of functions.

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::OnceLock;

use super::parse::RESERVED;
use crate::schema::{Kind, Schema};

/// A type. `'s` is the lifetime of the schemas that describe objects.
#[derive(Debug, Clone, PartialEq)]
pub enum Type<'s> {
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
    /// The `metadata` that rules can read, which has `name` and `generateName` only.
    Metadata,
    /// A type parameter of a declaration.
    Param(char),
}

/// A schema that compares by its structure.
#[derive(Debug, Clone, Copy)]
pub struct Shape<'s>(pub &'s Schema);

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

/// Returns the simple type of that name.
pub const fn simple<'s>(name: &'static str) -> Type<'s> {
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

    fn is_nullable(&self) -> bool {
        match self {
            Type::Object(..) | Type::Metadata | Type::Optional(_) => true,
            Type::Simple(name) => name.contains('.') || *name == "null_type",
            _ => false,
        }
    }
}

/// Returns the name by which rules refer to a property.
pub fn escape(property: &str) -> String {
    if ["true", "false", "null", "in", "__"].contains(&property) || RESERVED.contains(&property) {
        return format!("__{property}__");
    }
    property
        .replace("__", "__underscores__")
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__")
}

/// The types that the type parameters of one call stand for.
#[derive(Debug, Clone, Default)]
pub struct Bindings<'s>(BTreeMap<char, Type<'s>>);

impl<'s> Bindings<'s> {
    /// Returns whether a value of type `actual` fits the type `declared`, and binds type parameters.
    pub fn fits(&mut self, declared: &Type<'s>, actual: &Type<'s>) -> bool {
        match (declared, actual) {
            (Type::Param(name), actual) => match self.0.get(name).cloned() {
                None => {
                    self.0.insert(*name, actual.clone());
                    true
                }
                Some(Type::Dyn | Type::Error) => true,
                Some(bound) => {
                    if self.fits(&bound, actual) {
                        return true;
                    }
                    let wider = self.fits(actual, &bound);
                    if wider {
                        self.0.insert(*name, actual.clone());
                    }
                    wider
                }
            },
            (Type::Dyn | Type::Error, _) | (_, Type::Dyn | Type::Error) => true,
            (declared, Type::Simple("null_type")) => declared.is_nullable(),
            (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => self.fits(a, b),
            (Type::Kind(_), Type::Kind(_)) => true,
            (Type::Map(k, v), Type::Map(k2, v2)) => self.fits(k, k2) && self.fits(v, v2),
            (a, b) => a == b,
        }
    }

    /// Replaces the parameters of a type. Unbound ones become `dyn`.
    pub fn resolve(&self, declared: &Type<'s>) -> Type<'s> {
        match declared {
            Type::Param(name) => self.0.get(name).cloned().unwrap_or(Type::Dyn),
            Type::List(item) => Type::List(Rc::new(self.resolve(item))),
            Type::Optional(item) => Type::Optional(Rc::new(self.resolve(item))),
            Type::Kind(item) => Type::Kind(Rc::new(self.resolve(item))),
            Type::Map(key, value) => Type::Map(Rc::new(self.resolve(key)), Rc::new(self.resolve(value))),
            other => other.clone(),
        }
    }
}

/// One overload of a function, in the form `receiver.(arguments) result`.
#[derive(Debug, Clone, Copy)]
pub struct Overload {
    text: &'static str,
}

impl Overload {
    /// Returns the parameter types with the receiver first, whether it is a member call, and the result type.
    pub fn types<'s>(&self) -> Option<(Vec<Type<'s>>, bool, Type<'s>)> {
        let open = if self.text.starts_with('(') { 0 } else { self.text.find(".(")? + 1 };
        let close = matching(self.text, open)?;
        let mut args = Vec::new();
        if open > 0 {
            args.push(read(&self.text[..open - 1])?);
        }
        for arg in split(&self.text[open + 1..close]) {
            args.push(read(arg)?);
        }
        Some((args, open > 0, read(self.text[close + 1..].trim())?))
    }
}

fn matching(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0;
    for (i, c) in text.bytes().enumerate().skip(open) {
        match c {
            b'(' => depth += 1,
            b')' if depth == 1 => return Some(i),
            b')' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (i, c) in text.bytes().enumerate() {
        match c {
            b'(' => depth += 1,
            b')' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(text[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    if !text[start..].trim().is_empty() {
        parts.push(text[start..].trim());
    }
    parts
}

fn read<'s>(text: &'static str) -> Option<Type<'s>> {
    if let Some((name, inner)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        let parts = split(inner);
        let first = Rc::new(read(parts.first()?)?);
        return Some(match name {
            "list" => Type::List(first),
            "opt" => Type::Optional(first),
            "type" => Type::Kind(first),
            _ => Type::Map(first, Rc::new(read(parts.get(1)?)?)),
        });
    }
    Some(match text {
        "dyn" => Type::Dyn,
        "duration" => simple("google.protobuf.Duration"),
        "timestamp" => simple("google.protobuf.Timestamp"),
        "quantity" => simple("kubernetes.Quantity"),
        "semver" => simple("kubernetes.Semver"),
        "url" => simple("kubernetes.URL"),
        "format" => simple("kubernetes.NamedFormat"),
        "ip" => simple("net.IP"),
        "cidr" => simple("net.CIDR"),
        "authorizer" => simple("kubernetes.authorization.Authorizer"),
        "pathcheck" => simple("kubernetes.authorization.PathCheck"),
        "groupcheck" => simple("kubernetes.authorization.GroupCheck"),
        "resourcecheck" => simple("kubernetes.authorization.ResourceCheck"),
        "decision" => simple("kubernetes.authorization.Decision"),
        "A" | "B" => Type::Param(if text == "A" { 'A' } else { 'B' }),
        name => Type::Simple(name),
    })
}

/// Returns the overloads of a function; the list is empty if the function is not declared.
pub fn overloads(function: &str) -> &'static [Overload] {
    static TABLE: OnceLock<BTreeMap<&'static str, Vec<Overload>>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let mut table: BTreeMap<&'static str, Vec<Overload>> = BTreeMap::new();
        for line in DECLARATIONS.lines() {
            let Some((names, signatures)) = line.split_once(" : ") else { continue };
            for name in names.split_whitespace() {
                let list = table.entry(name).or_default();
                list.extend(signatures.split(" | ").map(|text| Overload { text: text.trim() }));
            }
        }
        table
    });
    table.get(function).map_or(&[], Vec::as_slice)
}

/// The declarations. Each line has the form `name name : signature | signature`.
const DECLARATIONS: &str = include_str!("declarations.txt");
