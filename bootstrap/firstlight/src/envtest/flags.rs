//! Parses the command lines of the real programs: `--name=value`, `--name value`, `--name`.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};

/// The flags by name without dashes, each with its values in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Flags(BTreeMap<String, Vec<String>>);

impl Flags {
    /// Parses arguments. A flag without a value gets the value `true`.
    ///
    /// # Errors
    /// An argument is not a flag.
    pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut flags = Self::default();
        let mut arguments = arguments.peekable();
        while let Some(argument) = arguments.next() {
            let Some(flag) = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-')) else {
                bail!("{argument:?} is no flag; write --name=value");
            };
            let (name, value) = match flag.split_once('=') {
                Some((name, value)) => (name, value.to_owned()),
                None => {
                    let value = arguments.next_if(|next| !next.starts_with('-'));
                    (flag, value.unwrap_or_else(|| "true".to_owned()))
                }
            };
            // The real programs accept underscores, too.
            flags.0.entry(name.replace('_', "-")).or_default().push(value);
        }
        Ok(flags)
    }

    /// Returns the value of a flag; of several, the last one.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.last().map(String::as_str)
    }

    /// Returns the values of a list flag, which may be repeated, separated by commas, or both.
    pub fn list(&self, name: &str) -> Vec<&str> {
        let given = self.0.get(name).into_iter().flatten();
        given.flat_map(|value| value.split(',')).filter(|value| !value.is_empty()).collect()
    }

    /// Returns the content of the file that a flag names.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn file(&self, name: &str) -> Result<Option<String>> {
        let Some(path) = self.value(name) else { return Ok(None) };
        std::fs::read_to_string(path).map(Some).with_context(|| format!("--{name}: cannot read {path}"))
    }

    /// Returns whether a boolean flag is set.
    pub fn is_on(&self, name: &str) -> bool {
        self.value(name) == Some("true")
    }

    /// Returns the names of the given flags, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}
