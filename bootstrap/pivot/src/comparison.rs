//! Compares an object at the target with the wanted one, and lists the fields that the target added. Pure.

use serde_json::Value;

use crate::normal::without_status;

/// The content fields of Secrets and ConfigMaps. A target that adds to them has different content, so additions count as differences.
const CONTENT: &[&str] = &["data", "binaryData"];

/// The result of the comparison of an object at the target with the wanted one.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The path of the first difference. Values are not shown, because they may be secret.
    pub difference: Option<String>,
    /// The paths that only the target's object has: defaults, and fields of webhooks.
    pub added: Vec<String>,
}

impl Comparison {
    /// Compares two objects in the form of [`crate::normal::normal`].
    pub fn of(wanted: &Value, there: &Value) -> Self {
        let mut comparison = Self::default();
        comparison.walk("", wanted, there);
        comparison
    }

    /// Compares two complete objects without their status and owner references.
    pub fn but_for_owners(wanted: &Value, there: &Value) -> Self {
        let bare = |object: &Value| {
            let mut object = without_status(object);
            if let Some(metadata) = object["metadata"].as_object_mut() {
                metadata.remove("ownerReferences");
            }
            object
        };
        Self::of(&bare(wanted), &bare(there))
    }

    fn walk(&mut self, path: &str, wanted: &Value, there: &Value) {
        match (wanted, there) {
            (Value::Object(wanted), Value::Object(there)) => {
                for (name, wanted) in wanted {
                    match there.get(name) {
                        Some(there) => self.walk(&below(path, name), wanted, there),
                        None => self.differ(&below(path, name)),
                    }
                }
                for name in there.keys().filter(|name| !wanted.contains_key(*name)) {
                    let added = below(path, name);
                    let root = added.split('.').next().unwrap_or_default();
                    if CONTENT.contains(&root) { self.differ(&added) } else { self.added.push(added) }
                }
            }
            (Value::Array(wanted), Value::Array(there)) => self.walk_items(path, wanted, there),
            (wanted, there) if wanted == there => {}
            _ => self.differ(path),
        }
    }

    /// Compares arrays: the target may have added items between the wanted ones, whose order must be the same.
    fn walk_items(&mut self, path: &str, wanted: &[Value], there: &[Value]) {
        let mut more = there.len().saturating_sub(wanted.len());
        let mut left = there.iter().enumerate();
        for (number, wanted) in wanted.iter().enumerate() {
            loop {
                let Some((index, item)) = left.next() else {
                    return self.differ(&format!("{path}[{number}]"));
                };
                let mut found = Self::default();
                found.walk(&format!("{path}[{number}]"), wanted, item);
                if found.difference.is_some() && more > 0 {
                    more -= 1;
                    self.added.push(format!("{path}[{index}]"));
                    continue;
                }
                self.difference = self.difference.take().or(found.difference);
                self.added.append(&mut found.added);
                break;
            }
        }
        self.added.extend(left.map(|(index, _)| format!("{path}[{index}]")));
    }

    fn differ(&mut self, path: &str) {
        let path = if path.is_empty() { "everything" } else { path };
        self.difference.get_or_insert_with(|| path.to_owned());
    }
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
