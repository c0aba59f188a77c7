//! Reads one document as JSON.

use std::collections::HashMap;

use libyaml_safer::{ErrorKind, EventData, Parser, ScalarStyle};
use machinery::limits::{MAX_DEPTH, MAX_YAML_NODES};
use machinery::yaml::resolve;
use serde_json::{Map, Value};

/// Reads the first document of a text; `null` if there is none. The error is one line with the position, in go-yaml's words.
pub fn read(text: &[u8]) -> Result<Value, String> {
    if let Err(error) = std::str::from_utf8(text) {
        return Err(no_text(&text[error.valid_up_to()..]));
    }
    let mut input = text;
    let mut parser = Parser::new();
    parser.set_input(&mut input);
    let mut reader = Reader { parser, anchors: HashMap::new(), nodes: 0 };
    loop {
        match reader.next()? {
            EventData::StreamStart { .. } | EventData::DocumentStart { .. } => {}
            EventData::StreamEnd => return Ok(Value::Null),
            event => {
                let value = reader.node(event, 0)?;
                // An error directly after the document counts too.
                reader.next()?;
                return Ok(value);
            }
        }
    }
}

struct Reader<'r> {
    parser: Parser<&'r mut &'r [u8]>,
    anchors: HashMap<String, Value>,
    nodes: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Result<EventData, String> {
        self.parser.parse().map(|event| event.data).map_err(|error| worded(&error))
    }

    fn node(&mut self, event: EventData, depth: usize) -> Result<Value, String> {
        self.nodes += 1;
        if depth > MAX_DEPTH || self.nodes > MAX_YAML_NODES {
            return Err("yaml: document contains excessive aliasing".to_owned());
        }
        let (anchor, value) = match event {
            EventData::Alias { anchor } => {
                let value = self.anchors.get(&anchor).cloned();
                let value = value.ok_or_else(|| format!("yaml: unknown anchor '{anchor}' referenced"))?;
                self.nodes += size(&value);
                return Ok(value);
            }
            EventData::Scalar { anchor, tag, value, style, .. } => {
                let plain = style == ScalarStyle::Plain && tag.as_deref() != Some("tag:yaml.org,2002:str")
                    || tag.as_deref().is_some_and(|tag| {
                        ["int", "float", "bool", "null"]
                            .iter()
                            .any(|name| tag == format!("tag:yaml.org,2002:{name}"))
                    });
                (anchor, if plain { resolve::value(&value)? } else { Value::String(value) })
            }
            EventData::SequenceStart { anchor, .. } => (anchor, self.sequence(depth)?),
            EventData::MappingStart { anchor, .. } => (anchor, self.mapping(depth)?),
            _ => (None, Value::Null),
        };
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor, value.clone());
        }
        Ok(value)
    }

    fn sequence(&mut self, depth: usize) -> Result<Value, String> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                EventData::SequenceEnd => return Ok(Value::Array(items)),
                event => items.push(self.node(event, depth + 1)?),
            }
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<Value, String> {
        let mut fields = Map::new();
        let mut merged = Map::new();
        loop {
            let event = match self.next()? {
                EventData::MappingEnd => break,
                event => event,
            };
            let merges =
                matches!(&event, EventData::Scalar { value, style: ScalarStyle::Plain, .. } if value == "<<");
            let key = key(&self.node(event, depth + 1)?)?;
            let event = self.next()?;
            let value = self.node(event, depth + 1)?;
            if merges {
                merge(value, &mut merged)?;
            } else {
                fields.insert(key, value);
            }
        }
        for (key, value) in merged {
            fields.entry(key).or_insert(value);
        }
        Ok(Value::Object(fields))
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(size).sum::<usize>(),
        _ => 1,
    }
}

/// Converts a key to text, because JSON's keys are texts.
fn key(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Bool(_) | Value::Number(_) => Ok(value.to_string()),
        other => Err(format!(
            "unsupported map key of type: {}, key: {}, value: %#v",
            machinery::go::go_type(other),
            machinery::go::go_text(other)
        )),
    }
}

fn merge(value: Value, into: &mut Map<String, Value>) -> Result<(), String> {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                into.entry(key).or_insert(value);
            }
            Ok(())
        }
        Value::Array(items) => items.into_iter().try_for_each(|item| merge(item, into)),
        _ => Err("yaml: map merge requires map or sequence of maps as the value".to_owned()),
    }
}

/// go-yaml's message for bytes that are not a valid character.
fn no_text(bytes: &[u8]) -> String {
    let length = match bytes.first() {
        Some(0xc0..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf7) => 4,
        _ => return "yaml: invalid leading UTF-8 octet".to_owned(),
    };
    let words = match bytes.get(1..length) {
        None => "incomplete UTF-8 octet sequence",
        Some(rest) if rest.iter().any(|byte| byte & 0xc0 != 0x80) => "invalid trailing UTF-8 octet",
        Some(_) => "invalid length of a UTF-8 sequence",
    };
    format!("yaml: {words}")
}

/// The error in go-yaml's words. The parser counts lines from 0, and a scanner error does not count the line in which the scanner
/// stopped.
fn worded(error: &libyaml_safer::Error) -> String {
    let problem = error.problem_mark().map_or(0, |mark| mark.line);
    let context = error.context_mark().map_or(0, |mark| mark.line);
    let line = match (problem, error.kind()) {
        (0, _) => context,
        (line, ErrorKind::Scanner) => line + 1,
        (line, _) => line,
    };
    let place = if line == 0 { String::new() } else { format!("line {line}: ") };
    format!("yaml: {place}{}", error.problem())
}
