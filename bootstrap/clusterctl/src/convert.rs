//! `convert`: converts manifests of Cluster API's core kinds to their newest version.
//!
//! The conversion is that of the API server. clusterctl 1.14 loses references and `minReadySeconds` in this command (its webhooks do
//! not), and adds fields that were not set; if it converts a manifest without loss, its result means the same as ours.

use std::collections::BTreeMap;

use machinery::schema::Schema;
use schemas::conversion::{Server, check as check_fields, convert as to_version, converts};
use serde_json::Value;

use crate::{Context, Error, Result, yaml};

const GROUP: &str = "cluster.x-k8s.io";
const TARGET: &str = "v1beta2";

/// The result of a conversion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// All objects as YAML.
    pub text: String,
    /// How many objects were converted.
    pub converted: usize,
    /// How many objects are unchanged.
    pub unchanged: usize,
}

/// Checks the version to convert to.
///
/// # Errors
/// The version is not the newest one.
pub fn check(version: &str) -> Result<()> {
    if version == TARGET {
        return Ok(());
    }
    Err(Error::invalid(format!("invalid --to-version value {version:?}. Supported versions are: {TARGET}")))
}

/// Converts every object in a YAML text.
///
/// # Errors
/// A document is not an object, or a field cannot be converted.
pub fn manifests(text: &[u8]) -> Result<Converted> {
    converted(text).context(|| "conversion failed".to_owned())
}

fn converted(text: &[u8]) -> Result<Converted> {
    let mut result = Converted { text: String::new(), converted: 0, unchanged: 0 };
    let kinds = Kinds::read()?;
    let documents = yaml::split(text).into_iter().filter(|document| !document.trim_ascii().is_empty());
    for (index, document) in documents.enumerate() {
        let failed = || format!("failed to parse YAML stream: failed to parse document at index {index}");
        let mut object = read(document.trim_ascii()).context(failed)?;
        let kind = text_of(&object, "kind").to_owned();
        if text_of(&object, "apiVersion") == format!("{GROUP}/v1beta1") && kinds.0.contains_key(&kind) {
            let failed =
                || format!("failed to convert resource {GROUP}/v1beta1, Kind={kind} at index {index}");
            object = kinds.convert(&kind, object).context(failed)?;
            result.converted += 1;
        } else {
            result.unchanged += 1;
        }
        if index > 0 {
            result.text.push_str("---\n");
        }
        result.text.push_str(&yaml::write(&object)?);
    }
    Ok(result)
}

/// The core kinds: the schemas of their versions, by name.
struct Kinds(BTreeMap<String, BTreeMap<String, Schema>>);

impl Kinds {
    fn read() -> Result<Self> {
        let built_in = |why: String| Error::invalid(format!("a built-in definition: {why}"));
        let mut kinds = BTreeMap::new();
        for definition in schemas::crds().map_err(|why| built_in(why.to_string()))? {
            let spec = &definition["spec"];
            if spec["group"] != GROUP {
                continue;
            }
            let mut versions = BTreeMap::new();
            for version in spec["versions"].as_array().into_iter().flatten() {
                let schema = Schema::parse(&version["schema"]["openAPIV3Schema"]);
                let schema = schema.map_err(|why| built_in(why.to_string()))?;
                versions.insert(text_of(version, "name").to_owned(), schema);
            }
            kinds.insert(text_of(&spec["names"], "kind").to_owned(), versions);
        }
        Ok(Self(kinds))
    }

    /// Converts an object to v1beta2.
    fn convert(&self, kind: &str, mut object: Value) -> Result<Value> {
        if converts(GROUP, kind) {
            check_fields(GROUP, &object).map_err(|errors| {
                let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
                Error::invalid(errors.join(", "))
            })?;
            let schema = |version: &str| self.0.get(kind)?.get(version);
            let server = Server { schema: &schema, contract_version: &|_, _| None };
            object = to_version(GROUP, object, TARGET, &server);
        }
        object["apiVersion"] = format!("{GROUP}/{TARGET}").into();
        Ok(object)
    }
}

fn text_of<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn read(document: &[u8]) -> Result<Value> {
    let object = yaml::read(document)
        .map_err(|reason| Error::invalid(format!("error converting YAML to JSON: {reason}")))
        .context(|| "failed to decode document: invalid YAML structure".to_owned())?;
    if text_of(&object, "kind").is_empty() || text_of(&object, "apiVersion").is_empty() {
        return Err(Error::invalid("failed to decode document: missing or empty apiVersion/kind"));
    }
    Ok(object)
}
