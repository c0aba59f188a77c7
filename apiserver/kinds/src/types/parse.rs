//! The parser of `types.txt`. It skips lines that it cannot parse; a test ensures that there are none.

use super::structure::{Field, FieldType, Type};
use machinery::schema::Presence;

/// Returns the name and the lines of each type.
pub(super) fn types(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    blocks(text).filter_map(|block| {
        let head = block.strip_prefix("type ")?.lines().next()?;
        Some((head.split(' ').next()?, block))
    })
}

/// Returns the name and the values of each enumeration.
pub(super) fn enums(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    blocks(text).filter_map(|block| block.strip_prefix("enum ")?.lines().next()?.split_once(' '))
}

/// Splits the text before each line that begins a type or an enumeration.
fn blocks(text: &'static str) -> impl Iterator<Item = &'static str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let next = |text: &str| {
            let found = ["\ntype ", "\nenum "].iter().filter_map(|head| text.find(head));
            found.min().map(|at| at + 1)
        };
        if rest.is_empty() {
            return None;
        }
        let end = next(rest).unwrap_or(rest.len());
        let (block, tail) = rest.split_at(end);
        rest = tail;
        Some(block)
    })
}

/// Parses one type from its lines.
pub(super) fn one(name: &'static str, text: &'static str) -> Type {
    let mut lines = text.lines();
    let atomic = lines.next().is_some_and(|head| head.ends_with(" atomic"));
    Type { name, atomic, fields: lines.filter_map(field).collect() }
}

fn field(line: &'static str) -> Option<Field> {
    let mut words = line.split(' ');
    let number = words.next()?.parse().ok()?;
    let name = words.next()?;
    let presence = match words.next()? {
        "+" => Presence::Always,
        "-" => Presence::NotZero,
        "?" => Presence::NotNil,
        "*" => Presence::Nullable,
        "." => Presence::Inline,
        _ => return None,
    };
    let ty = field_type(words.next()?)?;
    let mut field = Field {
        number,
        name,
        presence,
        ty,
        set: false,
        keys: Vec::new(),
        atomic: false,
        granular: false,
        patch_strategy: None,
        patch_key: None,
        default: None,
        required: false,
    };
    for word in words {
        match word.split_once('=') {
            None if word == "set" => field.set = true,
            None if word == "atomic" => field.atomic = true,
            None if word == "granular" => field.granular = true,
            None if word == "required" => field.required = true,
            Some(("map", keys)) => field.keys = keys.split(',').collect(),
            Some(("patch", strategy)) => field.patch_strategy = Some(strategy),
            Some(("key", key)) => field.patch_key = Some(key),
            Some(("default", value)) => field.default = Some(value),
            _ => return None,
        }
    }
    Some(field)
}

fn field_type(text: &'static str) -> Option<FieldType> {
    if let Some(item) = text.strip_prefix("[]") {
        return Some(FieldType::List(Box::new(field_type(item)?)));
    }
    if let Some(item) = text.strip_prefix("map:") {
        return Some(FieldType::Map(Box::new(field_type(item)?)));
    }
    if let Some(name) = text.strip_prefix("enum:") {
        return Some(FieldType::Enum(name));
    }
    Some(match text {
        "string" => FieldType::Text,
        "int32" => FieldType::Integer { wide: false },
        "int64" => FieldType::Integer { wide: true },
        "bool" => FieldType::Boolean,
        "bytes" => FieldType::Bytes,
        "time" => FieldType::Time,
        "microtime" => FieldType::MicroTime,
        "quantity" => FieldType::Quantity,
        "intstr" => FieldType::IntOrString,
        "raw" => FieldType::Raw,
        "fieldsv1" => FieldType::FieldsV1,
        "texts" => FieldType::Texts,
        name if name.contains('.') => FieldType::Named(name),
        _ => return None,
    })
}
