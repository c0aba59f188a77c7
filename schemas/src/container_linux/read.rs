//! Reads YAML as Go's decoder does: the field decides what a value is, not what the value looks like. `inline: 1`
//! and `inline: y` are texts, and `mode: 0644` is octal.

use std::cell::RefCell;
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map as Object, Value};
use serde_saphyr::{Options, options};

/// What a field holds.
pub enum Form {
    /// Any scalar, as it is written.
    Text,
    /// A whole number.
    Number,
    /// A truth value; quoted words of YAML 1.1, too.
    Flag,
    /// A list.
    List(&'static Form),
    /// A map with these fields.
    Map(&'static [Field]),
}

/// A field: its name and what it holds.
pub type Field = (&'static str, Form);

/// Sections for programs of Container Linux that the transpiler makes into units. Nothing here does that.
const NOT_SUPPORTED: &[&str] = &["docker", "etcd", "flannel", "locksmith", "update"];

/// Reads a map with `fields`. Empty values are left out; so are unknown fields, unless `strict` refuses them.
///
/// # Errors
/// Names the field that has another form.
pub fn read(text: &str, fields: &'static [Field], strict: bool) -> Result<Value, String> {
    let parsed = serde_saphyr::from_str_with_options::<Value>(text, as_go());
    let root = match parsed.map_err(|error| format!("is not YAML: {error}"))? {
        Value::Null => return Ok(Value::Object(Object::new())),
        Value::Object(root) => root,
        _ => return Err("must be a map".to_owned()),
    };
    if let Some(name) = NOT_SUPPORTED.iter().find(|name| root.contains_key(**name)) {
        return Err(format!("{name} is not supported: write its units and files instead"));
    }
    let wrong = RefCell::new(None);
    let form = Form::Map(fields);
    let seed = Read { form: &form, path: String::new(), strict, wrong: &wrong };
    let result =
        serde_saphyr::with_deserializer_from_str_with_options(text, as_go(), |yaml| seed.deserialize(yaml));
    result.map_err(|error| wrong.take().unwrap_or_else(|| error.to_string()))
}

fn as_go() -> Options {
    options! { legacy_octal_numbers: true, strict_booleans: true, with_snippet: false }
}

/// Reads one value, and keeps the first thing that is wrong in `wrong`, as a sentence with the path.
struct Read<'a> {
    form: &'a Form,
    path: String,
    strict: bool,
    wrong: &'a RefCell<Option<String>>,
}

impl Read<'_> {
    fn below<'a>(&'a self, path: String, form: &'a Form) -> Read<'a> {
        Read { form, path, strict: self.strict, wrong: self.wrong }
    }

    /// Returns what an empty entry of a list is.
    fn empty(&self) -> Value {
        match self.form {
            Form::Text => Value::from(""),
            Form::Number => Value::from(0),
            Form::Flag => Value::from(false),
            Form::List(_) => Value::Array(Vec::new()),
            Form::Map(_) => Value::Object(Object::new()),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Read<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, yaml: D) -> Result<Value, D::Error> {
        yaml.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for Read<'_> {
    type Value = Value;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self.form {
            Form::Text => "text",
            Form::Number => "a whole number",
            Form::Flag => "true or false",
            Form::List(_) => "a list",
            Form::Map(_) => "a map",
        })
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, yaml: D) -> Result<Value, D::Error> {
        let read = match self.form {
            Form::Text => yaml.deserialize_str(Scalar(&self)),
            Form::Number | Form::Flag => yaml.deserialize_any(Scalar(&self)),
            Form::List(form) => yaml.deserialize_seq(Entries(&self, form)),
            Form::Map(fields) => yaml.deserialize_map(Fields(&self, fields)),
        };
        read.inspect_err(|_| {
            let path = if self.path.is_empty() { "the configuration" } else { &self.path };
            let expected: &dyn serde::de::Expected = &self;
            self.wrong.borrow_mut().get_or_insert_with(|| format!("{path} must be {expected}"));
        })
    }
}

/// A text, a number or a truth value.
struct Scalar<'a>(&'a Read<'a>);

impl Visitor<'_> for Scalar<'_> {
    type Value = Value;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(to)
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Value, E> {
        match self.0.form {
            Form::Flag => Ok(Value::from(flag)),
            _ => Err(E::custom("")),
        }
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        match self.0.form {
            Form::Number => Ok(Value::from(number)),
            _ => Err(E::custom("")),
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        match self.0.form {
            Form::Number => Ok(Value::from(number)),
            _ => Err(E::custom("")),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        match (self.0.form, text) {
            (Form::Text, _) => Ok(Value::from(text)),
            (Form::Flag, "y" | "Y" | "yes" | "on") => Ok(Value::from(true)),
            (Form::Flag, "n" | "N" | "no" | "off") => Ok(Value::from(false)),
            _ => Err(E::custom("")),
        }
    }
}

/// A list whose entries have a form.
struct Entries<'a>(&'a Read<'a>, &'static Form);

impl<'de> Visitor<'de> for Entries<'_> {
    type Value = Value;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(to)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        loop {
            let entry = self.0.below(format!("{}[{}]", self.0.path, entries.len()), self.1);
            let empty = entry.empty();
            let Some(entry) = list.next_element_seed(entry)? else { return Ok(Value::Array(entries)) };
            entries.push(if entry.is_null() { empty } else { entry });
        }
    }
}

/// A map with known fields.
struct Fields<'a>(&'a Read<'a>, &'static [Field]);

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = Value;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(to)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut out = Object::new();
        while let Some(key) = map.next_key::<String>()? {
            let path = &self.0.path;
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let Some((_, form)) = self.1.iter().find(|(name, _)| *name == key) else {
                if self.0.strict {
                    self.0.wrong.borrow_mut().get_or_insert(format!("{path} is not known"));
                    return Err(A::Error::custom(""));
                }
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let value = map.next_value_seed(self.0.below(path, form))?;
            if !value.is_null() {
                out.insert(key, value);
            }
        }
        Ok(Value::Object(out))
    }
}
