//! Counts the work of a rendering, and makes all its values.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinery::pattern::Pattern;

use super::{Bytes, Element, List, Map, MapType, Value};
use crate::error::{Failure, Outcome};
use crate::limits;

/// The work that a rendering has made.
#[derive(Debug)]
pub(crate) struct Work {
    steps: u64,
    steps_max: u64,
    bytes: u64,
    /// All maps of the rendering. They may contain each other in circles or deep chains, so they are emptied one by one in the end.
    maps: Vec<Map>,
    /// The regular expressions that are compiled.
    regexes: BTreeMap<Vec<u8>, Arc<Pattern>>,
}

impl Drop for Work {
    fn drop(&mut self) {
        for map in &self.maps {
            map.clear();
        }
    }
}

impl Work {
    /// The work of a rendering that may make so many steps.
    pub(crate) fn new(steps_max: u64) -> Work {
        Work { steps: 0, steps_max, bytes: 0, maps: Vec::new(), regexes: BTreeMap::new() }
    }

    /// The steps that were counted. What is allocated takes time, too.
    pub(crate) fn counted(&self) -> u64 {
        self.steps.saturating_add(self.bytes / limits::STEP_BYTES)
    }

    /// Counts steps.
    pub(crate) fn steps(&mut self, count: usize) -> Outcome<()> {
        self.steps = self.steps.saturating_add(count as u64);
        self.check_steps()
    }

    fn check_steps(&self) -> Outcome<()> {
        if self.counted() > self.steps_max {
            return Err(Failure::Limit("steps", self.steps_max));
        }
        Ok(())
    }

    /// Counts bytes that will be allocated. It is called before, so that nothing large is ever made.
    pub(crate) fn bytes(&mut self, count: usize) -> Outcome<()> {
        self.bytes = self.bytes.saturating_add(count as u64);
        if self.bytes > limits::MEMORY_BYTES_MAX {
            return Err(Failure::Limit("bytes of memory", limits::MEMORY_BYTES_MAX));
        }
        self.check_steps()
    }

    /// Appends to a string that is being made.
    pub(crate) fn append(&mut self, output: &mut Vec<u8>, bytes: &[u8]) -> Outcome<()> {
        self.bytes(bytes.len())?;
        output.extend_from_slice(bytes);
        Ok(())
    }

    /// A string.
    pub(crate) fn text(&mut self, bytes: impl AsRef<[u8]>) -> Outcome<Value> {
        self.bytes(bytes.as_ref().len() + size_of::<Value>())?;
        Ok(Value::text(bytes))
    }

    /// A list.
    pub(crate) fn list(&mut self, element: Element, items: Vec<Value>) -> Outcome<Value> {
        self.steps(items.len())?;
        self.bytes((items.len() + 1) * size_of::<Value>())?;
        Ok(Value::List(List::new(element, items)?))
    }

    /// A list of strings.
    pub(crate) fn texts(&mut self, items: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Outcome<Value> {
        let mut values = Vec::new();
        for item in items {
            values.push(self.text(item)?);
        }
        self.list(Element::Text, values)
    }

    /// A map.
    pub(crate) fn map(&mut self, values: MapType, entries: BTreeMap<Bytes, Value>) -> Outcome<Value> {
        self.steps(entries.len() + 1)?;
        let keys: usize = entries.keys().map(|key| key.len()).sum();
        self.bytes(keys + (entries.len() + 2) * 2 * size_of::<Value>())?;
        let map = Map::new(values, entries);
        self.maps.push(map.clone());
        Ok(Value::Map(map))
    }

    /// Sets an entry of a map, and counts it.
    pub(crate) fn set(&mut self, map: &Map, key: Bytes, value: Value) -> Outcome<()> {
        self.steps(1)?;
        self.bytes(key.len() + 2 * size_of::<Value>())?;
        if map.set(key, value) { Ok(()) } else { Err("a map that is nil cannot be changed".into()) }
    }

    /// The entries of a map, which are counted as steps.
    pub(crate) fn entries(&mut self, map: &Map) -> Outcome<Vec<(Bytes, Value)>> {
        self.steps(map.len() + 1)?;
        self.bytes(map.len() * 2 * size_of::<Value>())?;
        Ok(map.entries())
    }

    /// A regular expression, which is compiled once.
    pub(crate) fn regex(
        &mut self,
        pattern: &[u8],
        compile: impl FnOnce(&[u8]) -> Outcome<Pattern>,
    ) -> Outcome<Arc<Pattern>> {
        if let Some(regex) = self.regexes.get(pattern) {
            return Ok(regex.clone());
        }
        self.steps(limits::REGEX_STEPS as usize)?;
        let regex = Arc::new(compile(pattern)?);
        self.regexes.insert(pattern.to_vec(), regex.clone());
        Ok(regex)
    }

    /// The value of a JSON text.
    pub(crate) fn json(&mut self, json: &serde_json::Value, depth: usize) -> Outcome<Value> {
        check_depth(depth)?;
        self.steps(1)?;
        match json {
            serde_json::Value::Null => Ok(Value::Nil),
            serde_json::Value::Bool(value) => Ok(Value::Bool(*value)),
            serde_json::Value::Number(value) => Ok(Value::Float(value.as_f64().unwrap_or(f64::NAN))),
            serde_json::Value::String(value) => self.text(value),
            serde_json::Value::Array(items) => {
                let mut values = Vec::with_capacity(items.len());
                for item in items {
                    values.push(self.json(item, depth + 1)?);
                }
                self.list(Element::Any, values)
            }
            serde_json::Value::Object(fields) => {
                let mut entries = BTreeMap::new();
                for (key, value) in fields {
                    entries.insert(key.as_bytes().into(), self.json(value, depth + 1)?);
                }
                self.map(MapType::Any, entries)
            }
        }
    }
}

/// Whether a value may be nested so deeply. What follows values by recursion calls it, because a map may contain itself.
pub(crate) fn check_depth(depth: usize) -> Outcome<()> {
    if depth > limits::VALUE_DEPTH_MAX {
        return Err(Failure::Limit("nested values", limits::VALUE_DEPTH_MAX as u64));
    }
    Ok(())
}
