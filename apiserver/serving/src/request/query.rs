//! Query parameters of the verbs, read like client-go's `ParameterCodec`.

use machinery::field::{FieldError, FieldErrorKind};
use machinery::status::Status;
use registry::{DeleteOptions, ListOptions, Preconditions, Propagation, WatchOptions};
use serde_json::{Value, json};

use crate::options::decode;

/// A decoded query.
#[derive(Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(query: &str) -> Self {
        let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(key), decode(value))
        });
        Self(pairs.collect())
    }

    /// Returns the first value; `None` if the parameter is absent.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the first value; empty if absent.
    pub(crate) fn text(&self, name: &str) -> String {
        self.get(name).unwrap_or_default().to_owned()
    }

    /// Returns a boolean: everything except `false` and `0` is true, including the empty string.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        self.get(name).map(|value| !(value.eq_ignore_ascii_case("false") || value == "0"))
    }

    /// Returns a number.
    ///
    /// # Errors
    /// 400 if the value is not a number.
    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, Status> {
        let Some(text) = self.get(name) else { return Ok(None) };
        match text.parse::<i64>() {
            Ok(number) => Ok(Some(number)),
            Err(error) => {
                use std::num::IntErrorKind::{NegOverflow, PosOverflow};
                let why = match error.kind() {
                    PosOverflow | NegOverflow => "value out of range",
                    _ => "invalid syntax",
                };
                Err(Status::bad_request(format!("strconv.ParseInt: parsing {text:?}: {why}")))
            }
        }
    }

    /// Checks `timeout`, which clients may set on any request other than a watch.
    ///
    /// # Errors
    /// 400 if Go's `time.ParseDuration` would not accept it.
    pub(crate) fn check_timeout(&self) -> Result<(), Status> {
        let Some(text) = self.get("timeout").filter(|text| !text.is_empty()) else { return Ok(()) };
        let Err(why) = go_duration(text) else { return Ok(()) };
        Err(Status::bad_request(format!("invalid timeout specified in the request URL - time: {why}")))
    }

    pub(super) fn all(&self, name: &str) -> Vec<&str> {
        self.0.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str()).collect()
    }

    /// Returns the options of a list.
    ///
    /// # Errors
    /// 400 for malformed numbers.
    pub(crate) fn list_options(&self) -> Result<ListOptions, Status> {
        self.number("timeoutSeconds")?;
        Ok(ListOptions {
            send_initial_events: self.flag("sendInitialEvents"),
            label_selector: self.text("labelSelector"),
            field_selector: self.text("fieldSelector"),
            limit: self.number("limit")?.unwrap_or(0),
            continue_token: self.text("continue"),
            resource_version: self.text("resourceVersion"),
            resource_version_match: self.text("resourceVersionMatch"),
        })
    }

    /// Returns the options of a watch.
    pub(crate) fn watch_options(&self) -> WatchOptions {
        WatchOptions {
            label_selector: self.text("labelSelector"),
            field_selector: self.text("fieldSelector"),
            resource_version: self.text("resourceVersion"),
            resource_version_match: self.text("resourceVersionMatch"),
            bookmarks: self.flag("allowWatchBookmarks").unwrap_or(false),
            send_initial_events: self.flag("sendInitialEvents"),
        }
    }

    /// Returns the options of a deletion, from the body if there is one, else from the query. The second
    /// value is `dryRun`.
    ///
    /// # Errors
    /// 400 for malformed values, 422 for invalid ones.
    pub(crate) fn delete_options(&self, body: Option<&Value>) -> Result<(DeleteOptions, bool), Status> {
        let from_query;
        let body = match body {
            Some(body) => body,
            None => {
                from_query = self.delete_body()?;
                &from_query
            }
        };
        delete_options(body)
    }

    fn delete_body(&self) -> Result<Value, Status> {
        let mut body = json!({});
        if let Some(seconds) = self.number("gracePeriodSeconds")? {
            body["gracePeriodSeconds"] = seconds.into();
        }
        if let Some(policy) = self.get("propagationPolicy") {
            body["propagationPolicy"] = policy.into();
        }
        if let Some(orphan) = self.flag("orphanDependents") {
            body["orphanDependents"] = orphan.into();
        }
        let dry_run = self.all("dryRun");
        if !dry_run.is_empty() {
            body["dryRun"] = dry_run.into();
        }
        for precondition in ["uid", "resourceVersion"] {
            if let Some(value) = self.get(precondition).filter(|value| !value.is_empty()) {
                body["preconditions"][precondition] = value.into();
            }
        }
        Ok(body)
    }
}

/// Returns Go's error if it does not accept the text as a duration.
fn go_duration(text: &str) -> Result<(), String> {
    let shown = go_quote(text);
    if machinery::duration::parse_nanoseconds(text).is_some() {
        return Ok(());
    }
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    while rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        let whole = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let fraction = whole.strip_prefix('.').unwrap_or(whole);
        let after = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
        let unit = &after[..after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len())];
        if whole.len() == rest.len() && after.len() == fraction.len() {
            break;
        }
        if unit.is_empty() {
            return Err(format!("missing unit in duration {shown}"));
        }
        if !["ns", "us", "µs", "μs", "ms", "s", "m", "h"].contains(&unit) {
            return Err(format!("unknown unit {} in duration {shown}", go_quote(unit)));
        }
        rest = &after[unit.len()..];
    }
    Err(format!("invalid duration {shown}"))
}

/// Quotes a text with the escapes of Go's `%q`.
pub(super) fn go_quote(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\u{b}' => quoted.push_str("\\v"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            c if u32::from(c) < 0x80 && c.is_control() => {
                quoted.push_str(&format!("\\x{:02x}", u32::from(c)))
            }
            c if c.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

pub(super) fn dry_run_errors(values: &[&str], errors: &mut Vec<FieldError>) {
    if values.iter().any(|value| *value != "All") {
        let why = r#"supported values: "All""#;
        errors.push(FieldError::new(FieldErrorKind::NotSupported, "dryRun", &json!(values), why));
    }
}

/// Reads a `DeleteOptions` object.
fn delete_options(body: &Value) -> Result<(DeleteOptions, bool), Status> {
    let mut errors = Vec::new();
    let dry_run: Vec<&str> =
        body["dryRun"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let policy = body["propagationPolicy"].as_str();
    let orphan_dependents = body["orphanDependents"].as_bool();
    if policy.is_some() && orphan_dependents.is_some() {
        let why = "orphanDependents and deletionPropagation cannot be both set";
        let mut error = FieldError::new(FieldErrorKind::Invalid, "propagationPolicy", &json!(policy), why);
        error.value = policy.map(|policy| format!("{policy:?}"));
        errors.push(error);
    }
    let propagation = match policy {
        None => None,
        Some("Foreground") => Some(Propagation::Foreground),
        Some("Background") => Some(Propagation::Background),
        Some("Orphan") => Some(Propagation::Orphan),
        Some(other) => {
            let why = r#"supported values: "Foreground", "Background", "Orphan", "nil""#;
            let field = "propagationPolicy";
            errors.push(FieldError::new(FieldErrorKind::NotSupported, field, &other.into(), why));
            None
        }
    };
    dry_run_errors(&dry_run, &mut errors);
    if !errors.is_empty() {
        return Err(Status::invalid("meta.k8s.io", "DeleteOptions", "", &errors));
    }
    let preconditions = &body["preconditions"];
    let text = |field: &str| preconditions[field].as_str().map(str::to_owned);
    let options = DeleteOptions {
        grace_period_seconds: body["gracePeriodSeconds"].as_i64(),
        preconditions: Preconditions { uid: text("uid"), resource_version: text("resourceVersion") },
        propagation,
        orphan_dependents,
    };
    Ok((options, !dry_run.is_empty()))
}
