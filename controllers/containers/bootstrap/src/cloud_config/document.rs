//! The sections of cloud-config that become steps, as YAML.
//!
//! Scalars are read as their text: `permissions: 0644` is four digits, as the writer meant it, and no number.

use std::fmt;

use machinery::limits::{MAX_DEPTH, MAX_YAML_ALIASES, MAX_YAML_NODES};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::error::Error;
use crate::limits::MAX_CONTENT;

/// The document.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Document {
    #[serde(deserialize_with = "list")]
    pub bootcmd: Vec<Entry>,
    #[serde(deserialize_with = "list")]
    pub write_files: Vec<File>,
    #[serde(deserialize_with = "list")]
    pub users: Vec<User>,
    #[serde(deserialize_with = "list")]
    pub runcmd: Vec<Entry>,
}

/// An entry of `write_files`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct File {
    pub path: Option<String>,
    pub content: Option<String>,
    pub encoding: Option<String>,
    pub owner: Option<String>,
    pub permissions: Option<String>,
    #[serde(deserialize_with = "flag")]
    pub append: bool,
    #[serde(deserialize_with = "flag")]
    pub defer: bool,
    pub source: Option<IgnoredAny>,
}

/// An entry of `users`: a name alone, or fields.
#[derive(Debug, Default, PartialEq)]
pub enum User {
    #[default]
    Nothing,
    Name(String),
    Fields(Box<UserFields>),
}

/// The fields of a user.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct UserFields {
    pub name: Option<String>,
    pub gecos: Option<String>,
    pub homedir: Option<String>,
    pub shell: Option<String>,
    pub primary_group: Option<String>,
    pub uid: Option<String>,
    pub inactive: Option<String>,
    pub expiredate: Option<String>,
    pub passwd: Option<String>,
    pub hashed_passwd: Option<String>,
    pub plain_text_passwd: Option<String>,
    pub lock_passwd: Option<String>,
    pub groups: Entry,
    pub sudo: Entry,
    pub ssh_authorized_keys: Entry,
    #[serde(deserialize_with = "flag")]
    pub system: bool,
    #[serde(deserialize_with = "flag")]
    pub no_create_home: bool,
    #[serde(deserialize_with = "flag")]
    pub no_user_group: bool,
}

/// A text, or a list of texts.
#[derive(Debug, Default, PartialEq)]
pub enum Entry {
    /// Null, or false.
    #[default]
    Nothing,
    Text(String),
    Words(Vec<String>),
}

/// Reads the document.
pub fn read<'t, T: Deserialize<'t> + Default>(text: &'t str) -> Result<T, Error> {
    let budget = serde_saphyr::budget! {
        max_depth: MAX_DEPTH,
        flow_nesting_limit: MAX_DEPTH,
        max_total_scalar_bytes: MAX_CONTENT,
        max_aliases: MAX_YAML_ALIASES,
        enforce_alias_anchor_ratio: false,
        max_nodes: MAX_YAML_NODES,
    };
    let options = serde_saphyr::options! { budget: budget, with_snippet: false };
    match serde_saphyr::from_str_with_options::<Option<T>>(text, options) {
        Ok(document) => Ok(document.unwrap_or_default()),
        Err(error) => {
            let line = error.location().map_or(1, |location| usize::try_from(location.line()).unwrap_or(1));
            Err(Error::Line { line, why: why(&error.without_snippet().to_string()) })
        }
    }
}

/// Returns an error of the YAML reader without its place, and without values of the document, which it puts into quotes.
fn why(message: &str) -> String {
    let first = message.lines().next().unwrap_or_default();
    let first = first.split(" at line ").next().unwrap_or_default();
    if first.contains("UTF-8") {
        return "the content is no text: give it as base64 with encoding: b64, without !!binary".to_owned();
    }
    if first.contains("duplicate mapping key") {
        return "the name is there already: write each section and field once".to_owned();
    }
    let expected = first.split_once("expected ").map(|(_, rest)| outside_of_quotes(rest));
    match expected.as_deref() {
        Some("sequence start") => "the value must be a list".to_owned(),
        Some("mapping start") => "the value must be a mapping of names to values".to_owned(),
        Some("string scalar") => "the value must be a text".to_owned(),
        Some(expected) if first.contains("invalid type") => format!("the value must be {expected}"),
        _ => format!("it is no YAML: {}", outside_of_quotes(first)),
    }
}

fn outside_of_quotes(text: &str) -> String {
    text.split(['"', '`']).step_by(2).collect::<Vec<_>>().join("…")
}

/// Reads a list, or null as an empty one.
fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    Ok(Option::<Vec<T>>::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads a flag as cloud-init's `is_true` does: `true`, `1`, `on` and `yes`.
fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.is_some_and(|text| is_true(&text)))
}

/// Whether a scalar is true in cloud-init's eyes.
pub fn is_true(text: &str) -> bool {
    matches!(text.trim().to_ascii_lowercase().as_str(), "true" | "1" | "on" | "yes")
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EntryVisitor)
    }
}

struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = Entry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of texts")
    }

    fn visit_unit<E>(self) -> Result<Entry, E> {
        Ok(Entry::Nothing)
    }

    fn visit_none<E>(self) -> Result<Entry, E> {
        Ok(Entry::Nothing)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Entry, E> {
        if value {
            Err(E::invalid_type(serde::de::Unexpected::Bool(value), &self))
        } else {
            Ok(Entry::Nothing)
        }
    }

    fn visit_str<E>(self, text: &str) -> Result<Entry, E> {
        Ok(Entry::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Entry, A::Error> {
        let mut words = Vec::new();
        while let Some(word) = items.next_element::<Option<String>>()? {
            words.push(word.unwrap_or_default());
        }
        Ok(Entry::Words(words))
    }
}

impl<'de> Deserialize<'de> for User {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UserVisitor)
    }
}

struct UserVisitor;

impl<'de> Visitor<'de> for UserVisitor {
    type Value = User;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a user or its fields")
    }

    fn visit_unit<E>(self) -> Result<User, E> {
        Ok(User::Nothing)
    }

    fn visit_str<E>(self, name: &str) -> Result<User, E> {
        Ok(User::Name(name.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<User, A::Error> {
        let fields = UserFields::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
        Ok(User::Fields(Box::new(fields)))
    }
}
