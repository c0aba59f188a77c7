//! An Ignition configuration under construction.

use serde_json::{Map, Value, json};

/// The version of the configuration's format.
const VERSION: &str = "2.3.0";

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

    /// Adds all entries of another configuration behind the present ones, which is how Ignition appends one.
    pub fn append(&mut self, other: Self) {
        for (section, lists) in other.0 {
            let Value::Object(lists) = lists else { continue };
            for (list, entries) in lists {
                let Value::Array(entries) = entries else { continue };
                entries.into_iter().for_each(|entry| self.push(&section, &list, entry));
            }
        }
    }

    /// Returns the configuration as JSON.
    pub fn json(mut self) -> String {
        self.0.insert("ignition".to_owned(), json!({"version": VERSION}));
        Value::Object(self.0).to_string()
    }
}

/// Returns a URL with `content` as its data.
pub fn data_url(content: &[u8]) -> String {
    format!("data:,{}", machinery::url::encode(content))
}

/// Returns the bits of a file mode in octal digits.
pub fn mode(digits: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(digits.trim(), 8).ok().filter(|mode| *mode <= 0o7777);
    mode.ok_or_else(|| format!("{digits:?} is not a mode in octal digits, such as 0640"))
}
