//! Replaces values that differ between runs by placeholders.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use machinery::clock::parse_rfc3339;
use regex::{Captures, Regex};
use serde_json::{Map, Value};

use crate::model::Response;
use crate::paths::text;

/// A fresh response, and the properties of its request that determine how to read it.
pub struct Fresh {
    /// The response.
    pub response: Response,
    /// Whether the path names a collection.
    pub collection: bool,
    /// All query parameters.
    pub query: BTreeMap<String, String>,
}

macro_rules! pattern {
    ($name:ident, $pattern:literal) => {
        static $name: LazyLock<Regex> = LazyLock::new(|| Regex::new($pattern).expect("a valid pattern"));
    };
}

pattern!(GENERATE, r#""generateName": ?"([^"]+)""#);
pattern!(UUID, r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}");
pattern!(TIME, r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)");
pattern!(AGE, r"^(\d+[smhdy])+$");
pattern!(VERSION, r"(?i)(resource ?version[^0-9]{0,30})(\d+)");
pattern!(CURRENT, r"(current: )(\d+)");
pattern!(TOO_OLD, r"(too old resource version: \d+ \()(\d+)(\))");

/// The characters of a generated suffix, and what must follow it.
const SUFFIX: &str = "[bcdfghjklmnpqrstvwxz2456789]{5}($|[^a-z0-9])";
const SUFFIX_CHARACTERS: usize = 5;

struct Normaliser<'a> {
    namespace: &'a str,
    /// All request templates of the case; texts that occur in them are never replaced.
    literal: &'a str,
    now: DateTime<Utc>,
    uids: BTreeMap<String, usize>,
    /// Rank of each object's resource version.
    ranks: BTreeMap<String, usize>,
    generated: BTreeMap<String, String>,
    generators: Vec<Regex>,
    lists: BTreeSet<String>,
    /// Resource version of the newest object up to the previous step.
    newest: Option<u128>,
    columns: Vec<Value>,
}

/// Returns the responses of a case in the recorded form.
pub fn case(namespace: &str, literal: &str, now: DateTime<Utc>, answers: &[Fresh]) -> Vec<Response> {
    let generator = |found: Captures<'_>| {
        Regex::new(&format!("({}){SUFFIX}", regex::escape(&found[1].replace("{ns}", "<ns>")))).ok()
    };
    let mut normaliser = Normaliser {
        namespace,
        literal,
        now,
        uids: BTreeMap::new(),
        ranks: BTreeMap::new(),
        generated: BTreeMap::new(),
        generators: GENERATE.captures_iter(literal).filter_map(generator).collect(),
        lists: BTreeSet::new(),
        newest: None,
        columns: Vec::new(),
    };
    normaliser.rank(answers);
    answers.iter().map(|fresh| normaliser.answer(fresh)).collect()
}

/// Returns manager, operation and subresource of an entry of `managedFields`.
pub fn managed_key(entry: &Value) -> String {
    let part = |key| text(entry, &[key]);
    match part("subresource") {
        "" => format!("{}/{}", part("manager"), part("operation")),
        subresource => format!("{}/{}/{subresource}", part("manager"), part("operation")),
    }
}

fn is_list(body: &Value, collection: bool) -> bool {
    let kind = text(body, &["kind"]);
    body.get("items").is_some() && kind.ends_with("List") || kind == "Table" && collection
}

fn is_bookmark(event: &Value) -> bool {
    text(event, &["type"]) == "BOOKMARK"
}

impl Normaliser<'_> {
    fn rank(&mut self, answers: &[Fresh]) {
        let mut found = BTreeSet::new();
        for fresh in answers {
            let body = &fresh.response.body;
            if body.is_object() {
                self.collect(body, &mut found, is_list(body, fresh.collection));
            }
            for event in &fresh.response.events {
                self.collect(&event["object"], &mut found, is_bookmark(event));
            }
        }
        let mut all: Vec<String> = found.into_iter().collect();
        all.sort_by_key(|version| version.parse::<u128>().unwrap_or(u128::MAX));
        self.ranks = all.into_iter().zip(1..).collect();
    }

    /// Collects resource versions and generated names below `value`. The resource version of a list itself is
    /// left out.
    fn collect(&mut self, value: &Value, versions: &mut BTreeSet<String>, list: bool) {
        match value {
            Value::Object(fields) => {
                let metadata = |key| text(value, &["metadata", key]);
                if !list && !metadata("resourceVersion").is_empty() {
                    versions.insert(metadata("resourceVersion").to_owned());
                }
                let (prefix, name) = (metadata("generateName"), metadata("name"));
                let suffix = name.strip_prefix(prefix).filter(|_| !prefix.is_empty());
                if suffix.is_some_and(|suffix| suffix.len() == SUFFIX_CHARACTERS)
                    && !self.literal.contains(name)
                    && !self.generated.contains_key(name)
                {
                    let placeholder = format!("{prefix}<suffix:{}>", self.generated.len() + 1);
                    self.generated.insert(name.to_owned(), placeholder);
                }
                fields.values().for_each(|field| self.collect(field, versions, false));
            }
            Value::Array(items) => items.iter().for_each(|item| self.collect(item, versions, false)),
            _ => {}
        }
    }

    fn answer(&mut self, fresh: &Fresh) -> Response {
        let response = &fresh.response;
        let mut out = Response {
            code: response.code,
            content_type: response.content_type.clone(),
            warnings: response.warnings.iter().map(|warning| self.text(warning)).collect(),
            trouble: response.trouble.iter().map(|trouble| self.text(trouble)).collect(),
            text: self.text(&response.text),
            ..Response::default()
        };
        out.body = self.object(&response.body, fresh, is_list(&response.body, fresh.collection), false);
        self.columns.clear();
        for event in &response.events {
            let mut event = event.clone();
            let bookmark = is_bookmark(&event);
            if event["object"].is_object() {
                event["object"] = self.object(&event["object"], fresh, false, bookmark);
            }
            out.events.push(event);
        }
        let mut seen = BTreeSet::new();
        self.collect(&response.body, &mut seen, false);
        response.events.iter().for_each(|event| self.collect(event, &mut seen, false));
        let objects = seen.iter().filter(|version| self.ranks.contains_key(*version));
        self.newest = objects.filter_map(|version| version.parse().ok()).max().max(self.newest);
        out
    }

    /// Normalises a whole response or the object of an event.
    fn object(&mut self, object: &Value, fresh: &Fresh, list: bool, bookmark: bool) -> Value {
        let mut out = self.value(object);
        if !list && !bookmark {
            return out;
        }
        let version = text(object, &["metadata", "resourceVersion"]);
        if let Some(Value::Object(metadata)) = out.get_mut("metadata") {
            if !version.is_empty() {
                metadata.insert("resourceVersion".into(), self.list_version(version, fresh, bookmark).into());
            }
            if metadata.get("continue").is_some_and(|token| token != "") {
                metadata.insert("continue".into(), "<continue>".into());
            }
        }
        out
    }

    fn list_version(&mut self, version: &str, fresh: &Fresh, bookmark: bool) -> String {
        let query = |key: &str| fresh.query.get(key).map(String::as_str).unwrap_or_default();
        let again = !self.lists.insert(version.to_owned());
        if let Some(rank) = self.ranks.get(version).filter(|_| query("resourceVersionMatch") == "Exact") {
            return format!("<rv:{rank}>");
        }
        if !query("continue").is_empty() && again {
            return "<rv:same-list>".into();
        }
        let Ok(number) = version.parse::<u128>() else { return "<rv:not-a-number>".into() };
        let older = self.newest.is_some_and(|newest| number < newest);
        if older && query("resourceVersion") != "0" && !bookmark { "<rv:older-list>" } else { "<rv:list>" }
            .into()
    }

    fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::Object(fields) => self.fields(value, fields),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::String(string) => Value::String(self.text(string)),
            other => other.clone(),
        }
    }

    fn fields(&mut self, value: &Value, fields: &Map<String, Value>) -> Value {
        let mut out = Map::new();
        for (key, field) in fields {
            let normal = match field {
                Value::Array(entries) if key == "managedFields" => {
                    let mut entries = entries.clone();
                    entries
                        .sort_by_key(|entry| (managed_key(entry), text(entry, &["apiVersion"]).to_owned()));
                    self.value(&Value::Array(entries))
                }
                Value::Object(_) if key == "metadata" => self.metadata(field),
                _ => self.value(field),
            };
            out.insert(self.text(key), normal);
        }
        let mut out = Value::Object(out);
        if text(value, &["kind"]) == "Table" {
            self.table(&mut out);
        }
        out
    }

    fn metadata(&mut self, metadata: &Value) -> Value {
        let mut out = self.value(metadata);
        let version = text(metadata, &["resourceVersion"]);
        if !version.is_empty() {
            let rank = self.ranks.get(version);
            out["resourceVersion"] = rank.map_or("<rv>".to_owned(), |rank| format!("<rv:{rank}>")).into();
        }
        out
    }

    /// Normalises the ages in a Table. Only the first event of a watch has the columns.
    fn table(&mut self, table: &mut Value) {
        if let Some(columns) = table["columnDefinitions"].as_array() {
            self.columns = columns.clone();
        }
        for row in table["rows"].as_array_mut().into_iter().flatten() {
            for (cell, column) in row["cells"].as_array_mut().into_iter().flatten().zip(&self.columns) {
                let dated = column["name"] == "Age" || column["type"] == "date";
                if dated && cell.as_str().is_some_and(|age| AGE.is_match(age)) {
                    *cell = "<age>".into();
                }
            }
        }
    }

    fn text(&mut self, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        let mut text = text.to_owned();
        for (name, placeholder) in &self.generated {
            text = text.replace(name, placeholder);
        }
        text = text.replace(self.namespace, "<ns>");
        for generator in &self.generators {
            text = generator.replace_all(&text, "${1}<suffix>${2}").into_owned();
        }
        let literal = self.literal;
        let uids = &mut self.uids;
        let uid = |found: &Captures<'_>| {
            if literal.contains(&found[0]) {
                return found[0].to_owned();
            }
            let next = uids.len() + 1;
            format!("<uid:{}>", uids.entry(found[0].to_owned()).or_insert(next))
        };
        text = UUID.replace_all(&text, uid).into_owned();
        text = TIME.replace_all(&text, |found: &Captures<'_>| self.time(&found[0])).into_owned();
        text = TOO_OLD.replace_all(&text, "${1}<rv:oldest>${3}").into_owned();
        let ranked = |found: &Captures<'_>| match self.ranks.get(&found[2]) {
            Some(rank) => format!("{}<rv:{rank}>", &found[1]),
            None => found[0].to_owned(),
        };
        text = VERSION.replace_all(&text, ranked).into_owned();
        if text.contains("Too large resource version") {
            text = CURRENT.replace_all(&text, "${1}<rv:current>").into_owned();
        }
        text
    }

    fn time(&self, found: &str) -> String {
        let recent = |time: DateTime<Utc>| (self.now - time).abs() <= chrono::Duration::days(1);
        match parse_rfc3339(found) {
            Some(time) if recent(time) && !self.literal.contains(found) => {
                if found.contains('.') { "<microtime>" } else { "<time>" }.into()
            }
            _ => found.to_owned(),
        }
    }
}
