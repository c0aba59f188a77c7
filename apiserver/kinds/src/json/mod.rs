//! The JSON text of objects as Go writes it.
//!
//! A built-in kind is a struct in Go, so `kind` and `apiVersion` come first, and then its fields as they are declared. A custom object is a map,
//! and its keys are sorted.

mod layout;

use serde_json::{Map, Value};

use self::layout::{Layout, Shape};
use crate::protobuf::type_name;
use machinery::meta;

/// The fields that come before all others, unless the type declares them elsewhere.
const TYPE_META: [&str; 2] = ["kind", "apiVersion"];

/// The order of the fields of a value.
#[derive(Clone, Copy)]
pub struct Order(Way);

#[derive(Clone, Copy)]
enum Way {
    /// Sorted by their names.
    Sorted,
    /// As the type declares them.
    Declared(&'static Layout),
    /// The order of each item of a list or map.
    Each(&'static Shape),
}

/// Returns the text of an object that is a struct in Go: a built-in kind, a `Status`, a document of discovery.
pub fn text(object: &Value) -> Vec<u8> {
    let mut text = Vec::with_capacity(1024);
    Order::of_kind(object).write(&mut text, object);
    text
}

impl Order {
    /// The order of custom objects.
    pub const SORTED: Self = Self(Way::Sorted);

    /// Returns the order of an object of a built-in kind. Of an unknown kind, `metadata` precedes the other fields.
    pub fn of_kind(object: &Value) -> Self {
        let (api_version, kind) = (meta::api_version(object), meta::kind(object));
        let layout = layout::find(&type_name(api_version, kind));
        Self(Way::Declared(layout.unwrap_or_else(layout::unknown)))
    }

    fn of(shape: &'static Shape) -> Self {
        Self(match shape {
            Shape::Plain => Way::Sorted,
            Shape::Type(_) => shape.layout().map_or(Way::Sorted, Way::Declared),
            Shape::Many(item) => Way::Each(item),
        })
    }

    /// Returns the fields of an object in order, each with the order of what it contains.
    pub fn fields(self, map: &Map<String, Value>) -> Vec<(&str, &Value, Self)> {
        let mut fields = Vec::with_capacity(map.len());
        self.visit(map, |key, value, order| fields.push((key, value, order)));
        fields
    }

    /// Returns whether the field `key` comes after the field `other`.
    pub fn follows(self, key: &str, other: &str) -> bool {
        let Way::Declared(layout) = self.0 else { return key > other };
        let place = |key: &str| layout.fields.iter().position(|field| field.name == key);
        place(key).unwrap_or(usize::MAX) > place(other).unwrap_or(usize::MAX)
    }

    /// Appends the JSON text of a value.
    pub fn write(self, text: &mut Vec<u8>, value: &Value) {
        match (self.0, value) {
            (Way::Declared(_) | Way::Each(_), Value::Object(map)) => {
                let mut next = b'{';
                self.visit(map, |key, value, order| {
                    text.push(next);
                    next = b',';
                    // Writing to memory cannot fail, and all keys are strings.
                    let _ = serde_json::to_writer(&mut *text, key);
                    text.push(b':');
                    order.write(text, value);
                });
                if next == b'{' {
                    text.push(next);
                }
                text.push(b'}');
            }
            (Way::Each(item), Value::Array(list)) => {
                let order = Self::of(item);
                text.push(b'[');
                for (index, item) in list.iter().enumerate() {
                    if index > 0 {
                        text.push(b',');
                    }
                    order.write(text, item);
                }
                text.push(b']');
            }
            _ => {
                let _ = serde_json::to_writer(text, value);
            }
        }
    }

    fn visit<'v>(self, map: &'v Map<String, Value>, mut see: impl FnMut(&'v str, &'v Value, Self)) {
        let layout = match self.0 {
            Way::Declared(layout) => layout,
            Way::Sorted => return map.iter().for_each(|(key, value)| see(key, value, Self::SORTED)),
            Way::Each(item) => {
                let order = Self::of(item);
                return map.iter().for_each(|(key, value)| see(key, value, order));
            }
        };
        let first = TYPE_META.into_iter().filter(|key| !layout.declares(key));
        let declared = layout.fields.iter().map(|field| (field.name, Some(&field.shape)));
        let mut seen = 0;
        for (name, shape) in first.map(|name| (name, None)).chain(declared) {
            if let Some((key, value)) = map.get_key_value(name) {
                see(key, value, shape.map_or(Self::SORTED, Self::of));
                seen += 1;
            }
        }
        if seen == map.len() {
            return;
        }
        for (key, value) in map {
            if !TYPE_META.contains(&key.as_str()) && !layout.declares(key) {
                see(key, value, Self::SORTED);
            }
        }
    }
}
