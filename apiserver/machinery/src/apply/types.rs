//! The merge rules of a schema: which values are atomic, and which lists have keys.
//!
//! Without a schema, the type is deduced from the value: maps are granular, lists are atomic.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use crate::schema::{Kind, ListType, Schema};

/// The type of one value.
#[derive(Debug, Clone, Copy)]
pub enum Type<'a> {
    /// The type is deduced from the value.
    Deduced,
    /// A string, for `apiVersion` and `kind`.
    Text,
    /// The type is described by a schema.
    Schema {
        /// The schema.
        schema: &'a Schema,
        /// Whether this node or one above it preserves unknown fields.
        preserve: bool,
        /// Whether the value is an object with `apiVersion`, `kind` and `metadata`.
        object: bool,
    },
}

/// The kinds of scalars that a type allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalarType {
    /// Integers and floats.
    Numeric,
    /// Strings.
    Text,
    /// Booleans.
    Boolean,
    /// Any scalar.
    Any,
}

/// The type of a list.
#[derive(Debug, Clone, Copy)]
pub struct ListAtom<'a> {
    /// The type of the items.
    pub element: Type<'a>,
    /// The merge type of the list.
    pub list_type: ListType,
    /// The keys of a list of type `map`.
    pub keys: &'a [String],
}

/// The type of a map.
#[derive(Debug, Clone, Copy)]
pub struct MapAtom<'a> {
    schema: Option<&'a Schema>,
    preserve: bool,
    object: bool,
    /// The type of undeclared fields, or `None` if they are not allowed.
    pub element: Option<Type<'a>>,
    /// Whether the map is merged as one value.
    pub atomic: bool,
}

/// The sort of a value, which determines how it is walked.
#[derive(Debug, Clone, Copy)]
pub enum Atom<'a> {
    /// A leaf.
    Scalar(ScalarType),
    /// A list.
    List(ListAtom<'a>),
    /// A map.
    Map(MapAtom<'a>),
}

impl Atom<'_> {
    /// Returns whether both are scalars, lists or maps.
    pub fn same_sort(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl<'a> Type<'a> {
    /// Returns the type of a whole object.
    pub fn root(schema: &'a Schema) -> Self {
        Self::Schema { schema, preserve: false, object: true }
    }

    fn of(schema: &'a Schema, preserve: bool) -> Self {
        Self::Schema { schema, preserve, object: schema.embedded_resource }
    }

    /// Returns how to walk `value`. A value of the wrong sort is walked as the schema says, so that validation finds
    /// the error.
    pub fn atom(self, value: Option<&Value>) -> Atom<'a> {
        let sort = match value {
            Some(Value::Number(_) | Value::String(_) | Value::Bool(_)) => self.as_scalar().map(Atom::Scalar),
            Some(Value::Array(_)) => self.as_list().map(Atom::List),
            Some(Value::Object(_)) => self.as_map().map(Atom::Map),
            Some(Value::Null) | None => None,
        };
        sort.or_else(|| self.as_map().map(Atom::Map))
            .or_else(|| self.as_scalar().map(Atom::Scalar))
            .or_else(|| self.as_list().map(Atom::List))
            .unwrap_or(Atom::Scalar(ScalarType::Any))
    }

    /// Returns the scalar type, or `None` if the type does not allow scalars.
    fn as_scalar(self) -> Option<ScalarType> {
        match self {
            Self::Deduced => Some(ScalarType::Any),
            Self::Text => Some(ScalarType::Text),
            Self::Schema { object: true, .. } => None,
            Self::Schema { schema, .. } => match schema.kind {
                None => Some(ScalarType::Any),
                Some(Kind::Integer | Kind::Number) => Some(ScalarType::Numeric),
                Some(Kind::Boolean) => Some(ScalarType::Boolean),
                Some(Kind::String) => Some(match schema.validation.format.as_deref() {
                    None | Some("" | "byte") => ScalarType::Text,
                    Some(_) => ScalarType::Any,
                }),
                Some(Kind::Object | Kind::Array) => None,
            },
        }
    }

    /// Returns the list type, or `None` if the type does not allow lists.
    pub fn as_list(self) -> Option<ListAtom<'a>> {
        let atomic = ListAtom { element: Type::Deduced, list_type: ListType::Atomic, keys: &[] };
        match self {
            Self::Deduced => Some(atomic),
            Self::Text | Self::Schema { object: true, .. } => None,
            Self::Schema { schema, preserve, .. } => {
                if !matches!(schema.kind, None | Some(Kind::Array)) {
                    return None;
                }
                let preserve = preserve || schema.preserve_unknown_fields;
                Some(ListAtom {
                    element: schema.items.as_deref().map_or(Type::Deduced, |items| Type::of(items, preserve)),
                    list_type: schema.list_type.unwrap_or(ListType::Atomic),
                    keys: &schema.list_map_keys,
                })
            }
        }
    }

    /// Returns the map type, or `None` if the type does not allow maps.
    pub fn as_map(self) -> Option<MapAtom<'a>> {
        match self {
            Self::Deduced => Some(MapAtom {
                schema: None,
                preserve: true,
                object: false,
                element: Some(Type::Deduced),
                atomic: false,
            }),
            Self::Text => None,
            Self::Schema { schema, preserve, object } => {
                if !object && !matches!(schema.kind, None | Some(Kind::Object)) {
                    return None;
                }
                let preserve = preserve || schema.preserve_unknown_fields;
                // An object without any property is free-form.
                let element = match &schema.additional_properties {
                    Some(additional) => Some(Type::of(additional, preserve)),
                    None if preserve => Some(Type::Deduced),
                    None if schema.properties.is_empty() && !object => Some(Type::Deduced),
                    None => None,
                };
                Some(MapAtom { schema: Some(schema), preserve, object, element, atomic: schema.atomic_map })
            }
        }
    }
}

impl<'a> MapAtom<'a> {
    /// Returns the type of the declared field `name`, or `None` if it is not declared.
    pub fn field(&self, name: &str) -> Option<Type<'a>> {
        if self.object {
            match name {
                "apiVersion" | "kind" => return Some(Type::Text),
                "metadata" => {
                    return Some(Type::Schema { schema: &OBJECT_META, preserve: false, object: false });
                }
                _ => {}
            }
        }
        self.schema?.properties.get(name).map(|schema| Type::of(schema, self.preserve))
    }

    /// Returns the type of the field `name`, declared or not, or `None` if the field is not allowed.
    pub fn lookup(&self, name: &str) -> Option<Type<'a>> {
        self.field(name).or(self.element)
    }
}

impl ListAtom<'_> {
    /// Returns the default of the key `name`, for items without that key.
    pub fn key_default(&self, name: &str) -> Option<&Value> {
        match self.element {
            Type::Schema { schema, .. } => schema.properties.get(name)?.default.as_ref(),
            _ => None,
        }
    }
}

/// `metav1.ObjectMeta`, the metadata of each kind regardless of its schema.
pub static OBJECT_META: LazyLock<Schema> = LazyLock::new(|| {
    let string = || of_kind(Kind::String);
    let time = || {
        let mut schema = of_kind(Kind::String);
        schema.validation.format = Some("date-time".to_owned());
        schema
    };
    let strings =
        || Schema { additional_properties: Some(Box::new(of_kind(Kind::String))), ..of_kind(Kind::Object) };
    object([
        ("annotations", strings()),
        ("creationTimestamp", time()),
        ("deletionGracePeriodSeconds", of_kind(Kind::Integer)),
        ("deletionTimestamp", time()),
        (
            "finalizers",
            Schema {
                items: Some(Box::new(string())),
                list_type: Some(ListType::Set),
                patch_strategy: Some("merge".to_owned()),
                ..of_kind(Kind::Array)
            },
        ),
        ("generateName", string()),
        ("generation", of_kind(Kind::Integer)),
        ("labels", strings()),
        ("managedFields", Schema { items: Some(Box::default()), ..of_kind(Kind::Array) }),
        ("name", string()),
        ("namespace", string()),
        (
            "ownerReferences",
            Schema {
                items: Some(Box::new(owner_reference())),
                list_type: Some(ListType::Map),
                list_map_keys: vec!["uid".to_owned()],
                patch_strategy: Some("merge".to_owned()),
                patch_merge_key: Some("uid".to_owned()),
                ..of_kind(Kind::Array)
            },
        ),
        ("resourceVersion", string()),
        ("selfLink", string()),
        ("uid", string()),
    ])
});

fn owner_reference() -> Schema {
    let text = || of_kind(Kind::String);
    let mut schema = object([
        ("apiVersion", text()),
        ("blockOwnerDeletion", of_kind(Kind::Boolean)),
        ("controller", of_kind(Kind::Boolean)),
        ("kind", text()),
        ("name", text()),
        ("uid", text()),
    ]);
    schema.atomic_map = true;
    schema
}

fn of_kind(kind: Kind) -> Schema {
    Schema { kind: Some(kind), ..Schema::default() }
}

fn object<const N: usize>(properties: [(&str, Schema); N]) -> Schema {
    let boxed = |(name, schema): (&str, Schema)| (name.to_owned(), Box::new(schema));
    let properties: BTreeMap<String, Box<Schema>> = properties.into_iter().map(boxed).collect();
    Schema { properties, ..of_kind(Kind::Object) }
}
