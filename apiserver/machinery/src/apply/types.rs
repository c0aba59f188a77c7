//! What a schema says about merging: which values are one unit, which lists have keys.
//!
//! Where a schema says nothing, the type follows from the value: maps field by field, lists as one unit.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use crate::schema::{Kind, ListType, Schema};

/// The type of one value.
#[derive(Debug, Clone, Copy)]
pub enum Type<'a> {
    /// By the value.
    Deduced,
    /// A string (`apiVersion` and `kind`).
    Text,
    /// By a schema.
    Schema {
        /// The schema.
        schema: &'a Schema,
        /// Whether this node or one above preserves unknown fields.
        preserve: bool,
        /// Whether it is an object of its own, with `apiVersion`, `kind` and `metadata`.
        object: bool,
    },
}

/// What kinds of scalar are allowed.
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

/// A list.
#[derive(Debug, Clone, Copy)]
pub struct ListAtom<'a> {
    /// The type of the items.
    pub element: Type<'a>,
    /// How it is merged.
    pub list_type: ListType,
    /// The keys of a list of type map.
    pub keys: &'a [String],
}

/// A map.
#[derive(Debug, Clone, Copy)]
pub struct MapAtom<'a> {
    schema: Option<&'a Schema>,
    preserve: bool,
    object: bool,
    /// The type of fields that are not declared; `None` when there must not be any.
    pub element: Option<Type<'a>>,
    /// Whether it is one unit.
    pub atomic: bool,
}

/// How a value is walked.
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
    /// Whether both are of one sort.
    pub fn same_sort(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl<'a> Type<'a> {
    /// The type of a whole object.
    pub fn root(schema: &'a Schema) -> Self {
        Self::Schema { schema, preserve: false, object: true }
    }

    fn of(schema: &'a Schema, preserve: bool) -> Self {
        Self::Schema { schema, preserve, object: schema.embedded_resource }
    }

    /// How `value` is walked. A value of the wrong sort is walked as the schema has it, so that it is found.
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

    /// The type as a scalar, when it can be one.
    pub fn as_scalar(self) -> Option<ScalarType> {
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

    /// The type as a list, when it can be one.
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

    /// The type as a map, when it can be one.
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
    /// The type of the declared field `name`.
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

    /// The type of the field `name`, declared or not; `None` when there must not be such a field.
    pub fn lookup(&self, name: &str) -> Option<Type<'a>> {
        self.field(name).or(self.element)
    }
}

impl ListAtom<'_> {
    /// The default of the key `name`, for items that leave it out.
    pub fn key_default(&self, name: &str) -> Option<&Value> {
        match self.element {
            Type::Schema { schema, .. } => schema.properties.get(name)?.default.as_ref(),
            _ => None,
        }
    }
}

/// `metav1.ObjectMeta`: the metadata of every kind, whatever its schema says.
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
