//! Server-side apply compared with recorded responses of a kube-apiserver. The tests replay the pure part of each write
//! in order.

use chrono::{DateTime, Utc};
use machinery::apply::{self, Reset, Writer};
use machinery::schema::{Schema, default, prune};
use machinery::{meta, patch};
use serde_json::{Value, json};

use crate::machinery::OneSchema;

struct Server {
    schema: Schema,
    live: Option<Value>,
}

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap()
}

impl Server {
    fn write(&mut self, step: &Value) -> Result<(), machinery::status::Status> {
        let text = |name: &str| step[name].as_str().unwrap_or_default();
        let reset = match text("subresource") {
            "status" => Reset::AllBut(&[&["status"]]),
            _ => Reset::Fields(&[&["status"]]),
        };
        let versions = OneSchema(&self.schema);
        let writer = Writer {
            manager: text("manager"),
            api_version: "golden.test/v1",
            subresource: text("subresource"),
            reset,
            now: now(),
            versions: &versions,
        };
        let body = &step["body"];
        let mut new = match text("kind") {
            "apply" => {
                let empty = json!({"apiVersion": body["apiVersion"], "kind": body["kind"]});
                let live = self.live.as_ref().unwrap_or(&empty);
                let mut new = apply::apply(live, body, step["force"] == true, &writer)?;
                default(&self.schema, &mut new);
                new
            }
            kind => {
                let mut new = match (&self.live, kind) {
                    (Some(live), "merge") => patch::merge_patch(live, body.to_string().as_bytes())?.object,
                    _ => body.clone(),
                };
                machinery::schema::coerce(&self.schema, &mut new).unwrap();
                prune(&self.schema, &mut new);
                machinery::schema::drop_nulls(&self.schema, &mut new);
                default(&self.schema, &mut new);
                apply::update(self.live.as_ref(), new, &writer)
            }
        };
        // The strategy of the path resets fields.
        let live = self.live.take().unwrap_or_else(|| json!({}));
        if text("subresource") == "status" {
            let mut kept = live.clone();
            kept["status"] = new["status"].take();
            if let Some(fields) = new["metadata"].get("managedFields") {
                kept["metadata"]["managedFields"] = fields.clone();
            }
            new = kept;
        } else {
            match live.get("status") {
                Some(status) => new["status"] = status.clone(),
                None => drop(new.as_object_mut().unwrap().remove("status")),
            }
        }
        meta::metadata_mut(&mut new).unwrap().insert("uid".to_owned(), "u".into());
        apply::keep_times(&live, &mut new);
        self.live = Some(new);
        Ok(())
    }
}

/// Returns the sorted entries of `managedFields`. Times are replaced by a placeholder, because only their presence
/// matters.
fn entries(fields: Option<&Value>) -> Vec<String> {
    let mut entries: Vec<String> = fields
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|entry| {
            let mut entry = entry.clone();
            if entry.get("time").is_some() {
                entry["time"] = "<time>".into();
            }
            entry.to_string()
        })
        .collect();
    entries.sort();
    entries
}

#[test]
fn recorded_answers() {
    let data: Value = serde_json::from_str(include_str!("data/apply.json")).unwrap();
    let mut failures = Vec::new();
    for case in data["cases"].as_array().unwrap() {
        let schema = Schema::parse(&data["schema"]).unwrap();
        let mut server = Server { schema, live: None };
        for (position, step) in case["steps"].as_array().unwrap().iter().enumerate() {
            let before = server.live.clone();
            let result = server.write(step);
            let mut expect = |what: &str, got: String, wanted: String| {
                if got != wanted {
                    failures.push(format!(
                        "{} step {position}: {what}\n  got    {got}\n  wanted {wanted}",
                        case["name"]
                    ));
                }
            };
            match result {
                Err(status) => {
                    expect("code", status.code.to_string(), step["code"].to_string());
                    expect(
                        "message",
                        status.message,
                        step["message"].as_str().unwrap_or_default().to_owned(),
                    );
                    server.live = before;
                }
                Ok(()) => {
                    let live = server.live.as_ref().unwrap();
                    let wanted = entries(step.get("managedFields"));
                    expect(
                        "managedFields",
                        entries(meta::at(live, &["metadata", "managedFields"])).join("\n"),
                        wanted.join("\n"),
                    );
                    for field in ["spec", "status"] {
                        let found = live.get(field).cloned().unwrap_or_default();
                        expect(field, found.to_string(), step[field].to_string());
                    }
                    expect("code", (step["code"].as_u64().unwrap() / 100).to_string(), "2".to_owned());
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
