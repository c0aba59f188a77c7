//! The parts of the configuration drive that make the installed system report, and that tell containerd the registry. Pure.

use serde_json::{Map, Value, json};

/// The key of the metadata with the URL for reports.
pub const URL_KEY: &str = "phone_home_url";
/// The path of reports below `/metadata/TOKEN`.
pub const PATH: &str = "/bootstrap";

/// The program for cloud-init, in which `@URL@` and `@FILES@` are replaced. cloud-init runs it before the commands of the user data, once for each
/// instance; it is written in Python, because cloud-init is.
const PROGRAM: &str = include_str!("machine.py");

/// Returns the URL for the reports of a machine. `http` is `http://ADDRESS:PORT` of this server as the machine reaches it.
pub fn url(http: &str, token: &str) -> String {
    format!("{http}/metadata/{token}{PATH}")
}

/// Adds the URL to the metadata, unless the user has given another one.
pub fn add_url(meta_data: &mut Map<String, Value>, url: &str) {
    meta_data.entry(URL_KEY).or_insert_with(|| url.into());
}

/// Returns OpenStack's `vendor_data.json` for the URL in the metadata. The program writes `files`, which have paths and contents.
pub fn vendor_data(meta_data: &Map<String, Value>, files: Map<String, Value>) -> String {
    let url = meta_data.get(URL_KEY).and_then(Value::as_str).unwrap_or_default();
    // Texts of JSON, and objects of texts, are literals of Python, too.
    let program = PROGRAM.replace("\"@URL@\"", &Value::from(url).to_string());
    json!({ "cloud-init": program.replace("\"@FILES@\"", &Value::from(files).to_string()) }).to_string()
}
