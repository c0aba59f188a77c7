//! Schemas of built-in kinds.

use std::sync::OnceLock;

use serde_json::{Value, json};

use super::index::{default_of, find};
use super::structure::{Field, FieldType, Type};
use machinery::schema::{Kind, ListType, Presence, Schema, summarise};

/// The schema of a built-in type, created at its first use. The schema of a Pod has more than a thousand nodes, and
/// most servers never store a Pod.
#[derive(Debug)]
pub struct LazySchema {
    name: String,
    schema: OnceLock<Schema>,
}

impl LazySchema {
    /// Creates the lazy schema of the type of that name.
    pub const fn new(name: String) -> Self {
        Self { name, schema: OnceLock::new() }
    }

    /// Returns the name of the type.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the schema, which allows any object if the type does not exist.
    pub fn get(&self) -> &Schema {
        self.schema.get_or_init(|| match find(&self.name) {
            Some(ty) => root(ty),
            None => Schema { preserve_unknown_fields: true, ..object() },
        })
    }
}

fn object() -> Schema {
    Schema { kind: Some(Kind::Object), ..Schema::default() }
}

fn of_kind(kind: Kind) -> Schema {
    Schema { kind: Some(kind), ..Schema::default() }
}

fn formatted(kind: Kind, format: &str) -> Schema {
    let mut schema = of_kind(kind);
    schema.validation.format = Some(format.to_owned());
    schema
}

/// Returns the schema of a whole object. `metadata` is common to all kinds and validated elsewhere.
fn root(ty: &Type) -> Schema {
    let mut schema = structure(ty);
    schema.properties.insert("apiVersion".into(), Box::new(of_kind(Kind::String)));
    schema.properties.insert("kind".into(), Box::new(of_kind(Kind::String)));
    schema.properties.insert("metadata".into(), Box::new(object()));
    summarise(&mut schema);
    schema
}

/// Returns the schema of a type whose objects have `apiVersion` and `kind` inside of other objects, too.
fn typed(name: &str) -> Schema {
    let mut schema = find(name).map_or_else(object, structure);
    for field in ["apiVersion", "kind"] {
        schema.properties.insert(field.into(), Box::new(of_kind(Kind::String)));
    }
    schema
}

fn structure(ty: &Type) -> Schema {
    let mut schema = object();
    schema.atomic_map = ty.atomic;
    fields(ty, &mut schema);
    summarise(&mut schema);
    schema
}

fn fields(ty: &Type, schema: &mut Schema) {
    for declared in &ty.fields {
        match (&declared.ty, declared.presence) {
            (FieldType::Named(inner), Presence::Inline) => {
                if let Some(inner) = find(inner) {
                    fields(inner, schema);
                }
            }
            _ => {
                schema.properties.insert(declared.name.to_owned(), Box::new(field(ty.name, declared)));
            }
        }
    }
}

fn field(owner: &str, declared: &Field) -> Schema {
    let mut schema = value(&declared.ty);
    schema.presence = Some(declared.presence);
    schema.atomic_map = (schema.atomic_map || declared.atomic) && !declared.granular;
    schema.patch_strategy = declared.patch_strategy.map(str::to_owned);
    schema.patch_merge_key = declared.patch_key.map(str::to_owned);
    if declared.set {
        schema.list_type = Some(ListType::Set);
    } else if !declared.keys.is_empty() {
        schema.list_type = Some(ListType::Map);
        schema.list_map_keys = declared.keys.iter().map(|key| (*key).to_owned()).collect();
    }
    schema.default = match default_of(owner, declared) {
        Some(text) => serde_json::from_str(text).ok(),
        None => match declared.presence {
            Presence::Always => Some(zero(&declared.ty)),
            Presence::Nullable => Some(Value::Null),
            _ => None,
        },
    };
    schema.nullable = schema.default == Some(Value::Null);
    summarise(&mut schema);
    schema
}

fn value(ty: &FieldType) -> Schema {
    match ty {
        FieldType::Text | FieldType::Enum(_) => of_kind(Kind::String),
        FieldType::Integer { wide } => formatted(Kind::Integer, if *wide { "int64" } else { "int32" }),
        FieldType::Boolean => of_kind(Kind::Boolean),
        FieldType::Bytes => formatted(Kind::String, "byte"),
        FieldType::Time => formatted(Kind::String, "date-time"),
        FieldType::MicroTime => formatted(Kind::String, "micro-time"),
        FieldType::Quantity => formatted(Kind::String, QUANTITY),
        FieldType::IntOrString => Schema { int_or_string: true, ..Schema::default() },
        FieldType::Raw | FieldType::FieldsV1 => {
            Schema { preserve_unknown_fields: true, atomic_map: true, ..object() }
        }
        FieldType::Texts => list(of_kind(Kind::String)),
        // StatefulSets contain claims as whole objects.
        FieldType::Named("core.v1.PersistentVolumeClaim") => typed("core.v1.PersistentVolumeClaim"),
        FieldType::Named(name) => find(name).map_or_else(object, structure),
        FieldType::List(item) => list(value(item)),
        FieldType::Map(item) => {
            let mut schema = Schema { additional_properties: Some(Box::new(value(item))), ..object() };
            summarise(&mut schema);
            schema
        }
    }
}

/// The format of quantities, which are stored in canonical form.
pub(crate) const QUANTITY: &str = "quantity";

fn list(items: Schema) -> Schema {
    let mut schema = Schema { items: Some(Box::new(items)), ..of_kind(Kind::Array) };
    summarise(&mut schema);
    schema
}

/// Returns the JSON that Go encodes for a zero value of this type, or `None` for an unknown type.
pub fn zero_object(name: &str) -> Option<Value> {
    let mut object = serde_json::Map::new();
    zero_fields(find(name)?, &mut object);
    Some(Value::Object(object))
}

fn zero_fields(ty: &Type, object: &mut serde_json::Map<String, Value>) {
    for declared in &ty.fields {
        let value = match (&declared.ty, declared.presence) {
            (FieldType::Named(inner), Presence::Inline) => {
                if let Some(inner) = find(inner) {
                    zero_fields(inner, object);
                }
                continue;
            }
            (FieldType::Named(inner), Presence::Always) => zero_object(inner).unwrap_or_default(),
            (_, Presence::Always) => zero(&declared.ty),
            (_, Presence::Nullable) => Value::Null,
            _ => continue,
        };
        object.insert(declared.name.to_owned(), value);
    }
}

/// Returns the JSON that Go encodes for an unset field.
pub(super) fn zero(ty: &FieldType) -> Value {
    match ty {
        FieldType::Text | FieldType::Enum(_) => "".into(),
        FieldType::Integer { .. } | FieldType::IntOrString => 0.into(),
        FieldType::Boolean => false.into(),
        FieldType::Quantity => "0".into(),
        FieldType::Named(_) => json!({}),
        _ => Value::Null,
    }
}
