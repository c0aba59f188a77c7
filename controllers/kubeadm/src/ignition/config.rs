//! An Ignition configuration under construction.

use serde_json::{Map, Value, json};

/// The version of the configuration's format.
const VERSION: &str = "2.3.0";
/// The section about Ignition itself.
const IGNITION: &str = "ignition";

/// An Ignition configuration: lists in the sections of the format.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Config(Map<String, Value>);

impl Config {
    /// Adds an entry to a list, for example to `files` of `storage`.
    pub fn push(&mut self, section: &str, list: &str, entry: Value) {
        let section = self.0.entry(section).or_insert_with(|| json!({}));
        match section.get_mut(list).and_then(Value::as_array_mut) {
            Some(entries) => entries.push(entry),
            None => section[list] = json!([entry]),
        }
    }

    /// Adds all entries of another configuration behind the present ones, which is how Ignition appends one. Its
    /// section `ignition` has no lists, and only the other configuration has one.
    pub fn append(&mut self, other: Value) {
        let Value::Object(sections) = other else { return };
        for (section, lists) in sections {
            let Value::Object(lists) = lists else { continue };
            if section == IGNITION {
                self.0.insert(section, Value::Object(lists));
                continue;
            }
            for (list, entries) in lists {
                let Value::Array(entries) = entries else { continue };
                entries.into_iter().for_each(|entry| self.push(&section, &list, entry));
            }
        }
    }

    /// Returns the configuration as JSON.
    pub fn json(mut self) -> String {
        self.0.entry(IGNITION).or_insert_with(|| json!({}))["version"] = VERSION.into();
        Value::Object(self.0).to_string()
    }
}
