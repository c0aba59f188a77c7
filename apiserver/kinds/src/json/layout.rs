//! The fields of Go's types in their order. A layout is made of a type at its first use, and kept for all servers of the process.

use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

use crate::types::{self, FieldType, Type};
use machinery::schema::Presence;

/// The types without a protobuf message here.
const TEXT: &str = include_str!("types.txt");

/// The fields of a type.
pub(super) struct Layout {
    pub(super) fields: Vec<Field>,
}

pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
}

/// What a value contains.
pub(super) enum Shape {
    /// Nothing that has an order of its own.
    Plain,
    /// The fields of a type.
    Type(Reference),
    /// Items of that shape, in a list or a map.
    Many(Box<Shape>),
}

/// A type, which is found at its first use: types contain each other.
pub(super) struct Reference {
    name: &'static str,
    layout: OnceLock<Option<&'static Layout>>,
}

impl Layout {
    pub(super) fn declares(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.name == name)
    }

    fn of(described: &'static Type) -> Self {
        let mut fields = Vec::with_capacity(described.fields.len());
        add(described, &mut fields);
        Self { fields }
    }
}

impl Shape {
    pub(super) fn layout(&self) -> Option<&'static Layout> {
        match self {
            Self::Type(reference) => *reference.layout.get_or_init(|| find(reference.name)),
            _ => None,
        }
    }

    fn of(described: &'static FieldType) -> Self {
        match described {
            FieldType::Named(name) => Self::named(name),
            FieldType::List(item) | FieldType::Map(item) => match Self::of(item) {
                Self::Plain => Self::Plain,
                item => Self::Many(Box::new(item)),
            },
            _ => Self::Plain,
        }
    }

    fn named(name: &'static str) -> Self {
        Self::Type(Reference { name, layout: OnceLock::new() })
    }
}

/// Adds the fields of a type. Those of a message without a name in JSON belong to the outer type.
fn add(described: &'static Type, fields: &mut Vec<Field>) {
    for field in &described.fields {
        match (&field.ty, field.presence) {
            (FieldType::Named(inner), Presence::Inline) => {
                if let Some(inner) = described_as(inner) {
                    add(inner, fields);
                }
            }
            (ty, _) => fields.push(Field { name: field.name, shape: Shape::of(ty) }),
        }
    }
}

fn described_as(name: &str) -> Option<&'static Type> {
    static OTHERS: LazyLock<BTreeMap<&str, Type>> = LazyLock::new(|| types::read(TEXT).collect());
    types::find(name).or_else(|| OTHERS.get(name))
}

/// Returns the layout of the type of that name, for example `core.v1.PodSpec`.
pub(super) fn find(name: &str) -> Option<&'static Layout> {
    static LAYOUTS: LazyLock<BTreeMap<&str, OnceLock<Layout>>> = LazyLock::new(|| {
        let others = types::read(TEXT).map(|(name, _)| name);
        types::names().chain(others).map(|name| (name, OnceLock::new())).collect()
    });
    let layout = LAYOUTS.get(name)?;
    let described = || described_as(name).map_or(Layout { fields: Vec::new() }, Layout::of);
    Some(layout.get_or_init(described))
}

/// Returns the layout of an object of which only its metadata are known.
pub(super) fn unknown() -> &'static Layout {
    static UNKNOWN: LazyLock<Layout> = LazyLock::new(|| {
        let metadata = Field { name: "metadata", shape: Shape::named("meta.v1.ObjectMeta") };
        Layout { fields: vec![metadata] }
    });
    &UNKNOWN
}
