//! The text form of objects in errors of kube-apiserver, with the fields of its internal types in their order.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use super::difference;

/// A field of an internal type.
struct Shown {
    name: &'static str,
    from: String,
    ty: &'static str,
    optional: bool,
}

static TYPES: LazyLock<BTreeMap<&'static str, Vec<Shown>>> = LazyLock::new(|| {
    let mut types: BTreeMap<&'static str, Vec<Shown>> = BTreeMap::new();
    let mut current = "";
    for line in include_str!("internal.txt").lines().filter(|line| !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix("type ") {
            current = name;
            types.entry(name).or_default();
            continue;
        }
        let mut words = line.split(' ');
        if let (Some(name), Some(from), Some(ty)) = (words.next(), words.next(), words.next()) {
            let from = match from {
                "=" => name.to_owned(),
                "~" => name
                    .chars()
                    .next()
                    .map(char::to_lowercase)
                    .into_iter()
                    .flatten()
                    .chain(name.chars().skip(1))
                    .collect(),
                from => from.to_owned(),
            };
            types.entry(current).or_default().push(Shown {
                name,
                from,
                ty,
                optional: words.next().is_some(),
            });
        }
    }
    types
});

/// Formats `value` as an internal type such as `core.PodSpec` or `?[]core.Volume`, on one line.
pub fn shown(ty: &str, value: &Value) -> String {
    let mut text = String::new();
    write(ty, value, Style { depth: None, sparse: false }, &mut text);
    text
}

/// Returns whether two values of an internal type are equal. Empty lists and maps are equal to absent ones.
pub fn same(ty: &str, one: &Value, other: &Value) -> bool {
    let text = |value: &Value| {
        let mut text = String::new();
        write(ty, value, Style { depth: None, sparse: true }, &mut text);
        text
    };
    text(one) == text(other)
}

/// Returns the changes from `old` to `new`, both of an internal type, as a unified difference of their fields.
pub fn changes(ty: &str, old: &Value, new: &Value) -> String {
    let lines = |value: &Value| {
        let mut text = String::new();
        write(ty, value, Style { depth: Some(0), sparse: true }, &mut text);
        text
    };
    difference::unified(&lines(old), &lines(new))
}

/// Fields of a pod spec that the internal type has in its security context.
const OF_HOST: [&str; 5] = ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"];

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(found) => !found,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
    }
}

/// Returns JSON with Go's escapes.
fn json(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// The layout of a formatted value.
#[derive(Clone, Copy)]
struct Style {
    /// The indentation of the lines, or `None` to write everything on one line.
    depth: Option<usize>,
    /// Whether empty lists and maps are written as null.
    sparse: bool,
}

impl Style {
    fn inner(self) -> Self {
        Self { depth: self.depth.map(|depth| depth + 1), ..self }
    }
}

fn new_line(style: Style, out: &mut String) {
    if let Some(depth) = style.depth {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', depth));
    }
}

fn write(ty: &str, value: &Value, style: Style, out: &mut String) {
    let inner = style.inner();
    if let Some(ty) = ty.strip_prefix('?') {
        let empty = style.sparse && ty.starts_with(['[', '{']) && is_empty(value);
        if value.is_null() || empty {
            out.push_str("null");
        } else {
            write(ty, value, style, out);
        }
    } else if let Some(ty) = ty.strip_prefix("[]") {
        let items = value.as_array().into_iter().flatten();
        enclosed(['[', ']'], items, style, out, |item, out| write(ty, item, inner, out));
    } else if let Some(ty) = ty.strip_prefix("{}") {
        let entries = value.as_object().into_iter().flatten();
        enclosed(['{', '}'], entries, style, out, |(name, item), out| {
            key(name, style, out);
            write(ty, item, inner, out);
        });
    } else if let Some(fields) = TYPES.get(ty) {
        structure(ty, fields, value, style, out);
    } else {
        single(ty, value, out);
    }
}

fn key(name: &str, style: Style, out: &mut String) {
    out.push_str(&json(&Value::from(name)));
    out.push_str(if style.depth.is_some() { ": " } else { ":" });
}

fn enclosed<T>(
    [open, close]: [char; 2],
    items: impl Iterator<Item = T>,
    style: Style,
    out: &mut String,
    mut each: impl FnMut(T, &mut String),
) {
    out.push(open);
    let mut any = false;
    for item in items {
        if any {
            out.push(',');
        }
        any = true;
        new_line(style.inner(), out);
        each(item, out);
    }
    if any {
        new_line(style, out);
    }
    out.push(close);
}

fn structure(ty: &str, fields: &[Shown], value: &Value, style: Style, out: &mut String) {
    let inner = style.inner();
    let context = (ty == "core.PodSpec").then(|| {
        let mut context = value["securityContext"].clone();
        if !context.is_object() {
            context = Value::Object(serde_json::Map::new());
        }
        for field in OF_HOST {
            context[field] = value[field].clone();
        }
        context
    });
    // The internal type has the metadata fields inlined.
    let inlined = fields.iter().any(|field| field.name == "generateName");
    let place = |field: &Shown| match &value[&field.from] {
        Value::Null if inlined => &value["metadata"][&field.from],
        found => found,
    };
    let found = |field: &Shown| match &context {
        Some(context) if field.from == "securityContext" => context.clone(),
        _ => place(field).clone(),
    };
    let is_left_out = |field: &Shown| field.optional && is_empty(place(field));
    let fields = fields.iter().filter(|field| !is_left_out(field));
    enclosed(['{', '}'], fields, style, out, |field, out| {
        key(field.name, style, out);
        write(field.ty, &found(field), inner, out);
    });
}

fn single(ty: &str, value: &Value, out: &mut String) {
    match (ty, value) {
        ("text", Value::Null) => out.push_str("\"\""),
        ("bool", Value::Null) => out.push_str("false"),
        ("number", Value::Null) => out.push('0'),
        ("quantity", Value::Null) => out.push_str("\"0\""),
        (_, value) => out.push_str(&json(value)),
    }
}
