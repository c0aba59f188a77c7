//! The names of places in objects in errors of Go's decoder, which consist of the struct and the type of the field.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::index::find;
use super::structure::{FieldType, Type};
use machinery::schema::Presence;

/// The place of a value as in errors of Go's decoder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoPlace {
    /// The struct that declares the field, for example `PodSpec`.
    pub holder: String,
    /// The field names on the path, including the names of inlined structs, for example
    /// `spec.volumes.VolumeSource.emptyDir`.
    pub names: String,
    /// The Go type of the value, for example `[]v1.Container`.
    pub go_type: String,
}

/// Fields with named Go types, by type and field.
static NAMED: LazyLock<BTreeMap<(&str, &str), &str>> = LazyLock::new(|| {
    let line = |line: &'static str| {
        let mut words = line.split(' ');
        Some(((words.next()?, words.next()?), words.next()?))
    };
    include_str!("go_types.txt").lines().filter(|line| !line.starts_with('#')).filter_map(line).collect()
});

/// Returns the place of `path` in an object of type `root`, for example `core.v1.Pod`. The elements of `path` are field
/// names, and indices or map keys in brackets. Returns `None` for fields that the type does not have.
pub fn go_place(root: &str, path: &[String]) -> Option<GoPlace> {
    let mut holder = find(root)?;
    let mut current = FieldType::Named(holder.name);
    let mut go_type = String::new();
    let mut names: Vec<&str> = Vec::new();
    for step in path {
        if step.starts_with('[') {
            current = match current {
                FieldType::List(item) | FieldType::Map(item) => *item,
                FieldType::Texts => FieldType::Text,
                _ => return None,
            };
            go_type = match go_type.strip_prefix("[]") {
                Some(item) => item.to_owned(),
                None => name(&current),
            };
            continue;
        }
        let FieldType::Named(outer) = current else { return None };
        holder = find(outer)?;
        let (declared_in, ty) = field(holder, step, &mut names)?;
        names.push(step);
        go_type =
            NAMED.get(&(declared_in, step.as_str())).map_or_else(|| name(ty), |name| (*name).to_owned());
        current = ty.clone();
    }
    Some(GoPlace { holder: short(holder.name).to_owned(), names: names.join("."), go_type })
}

/// Finds a field of a type, including those of inlined types, and the type that declares it. `names` collects the names
/// of the inlined types.
fn field<'p>(
    ty: &'static Type,
    wanted: &str,
    names: &mut Vec<&'p str>,
) -> Option<(&'static str, &'static FieldType)>
where
    'static: 'p,
{
    ty.fields.iter().find_map(|declared| match (&declared.ty, declared.presence) {
        (FieldType::Named(inner), Presence::Inline) => {
            names.push(short(inner));
            let found = find(inner).and_then(|inner| field(inner, wanted, names));
            if found.is_none() {
                names.pop();
            }
            found
        }
        (found, _) if declared.name == wanted => Some((ty.name, found)),
        _ => None,
    })
}

fn short(name: &'static str) -> &'static str {
    name.rsplit('.').next().unwrap_or(name)
}

/// Returns the Go name of a type; for example, `core.v1.Pod` is `v1.Pod`.
fn name(ty: &FieldType) -> String {
    match ty {
        FieldType::Text => "string".into(),
        FieldType::Enum(name) | FieldType::Named(name) => {
            name.split_once('.').map_or(*name, |(_, rest)| rest).into()
        }
        FieldType::Integer { wide } => if *wide { "int64" } else { "int32" }.into(),
        FieldType::Boolean => "bool".into(),
        FieldType::Bytes => "[]uint8".into(),
        FieldType::Time => "v1.Time".into(),
        FieldType::MicroTime => "v1.MicroTime".into(),
        FieldType::Quantity => "resource.Quantity".into(),
        FieldType::IntOrString => "intstr.IntOrString".into(),
        FieldType::Raw => "runtime.RawExtension".into(),
        FieldType::FieldsV1 => "v1.FieldsV1".into(),
        FieldType::Texts => "v1.ExtraValue".into(),
        FieldType::List(item) => format!("[]{}", name(item)),
        FieldType::Map(item) => format!("map[string]{}", name(item)),
    }
}
