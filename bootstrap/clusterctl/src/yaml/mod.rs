//! Reads and writes YAML as Go programs with `sigs.k8s.io/yaml` do: YAML 1.1, JSON's values, sorted keys, the same layout and errors.

pub mod documents;
mod read;
mod write;

pub use documents::{objects, split};
pub use read::read;
pub use write::{write, write_all};

/// A text in double quotes with escapes, as Go's `%q` prints it.
pub fn quoted(text: &[u8]) -> String {
    let mut quoted = String::from('"');
    for chunk in text.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' => quoted.push_str("\\\""),
                '\\' => quoted.push_str("\\\\"),
                '\n' => quoted.push_str("\\n"),
                '\t' => quoted.push_str("\\t"),
                '\r' => quoted.push_str("\\r"),
                '\u{7}' => quoted.push_str("\\a"),
                '\u{8}' => quoted.push_str("\\b"),
                '\u{b}' => quoted.push_str("\\v"),
                '\u{c}' => quoted.push_str("\\f"),
                control if control.is_ascii_control() => {
                    quoted.push_str(&format!("\\x{:02x}", control as u32))
                }
                other if other.is_control() => quoted.push_str(&format!("\\u{:04x}", other as u32)),
                other => quoted.push(other),
            }
        }
        chunk.invalid().iter().for_each(|byte| quoted.push_str(&format!("\\x{byte:02x}")));
    }
    quoted.push('"');
    quoted
}
