//! `convert`: converts manifests of Cluster API's own kinds to their newest version.
//!
//! The conversion is that of the API server. clusterctl 1.14 converts core kinds alone, and none in a List; it loses references and
//! `minReadySeconds` in this command (its webhooks do not), and adds fields that were not set. If it converts a manifest without loss, its
//! result means the same as ours.

use std::collections::BTreeMap;

use machinery::meta::group_version;
use machinery::schema::Schema;
use schemas::conversion::{Server, check as check_fields, convert as to_version, converts};
use serde_json::Value;

use crate::{Context, Error, Result, yaml};

/// The groups of Cluster API's own kinds. Infrastructure belongs to its providers, and so does its conversion.
const GROUPS: [&str; 6] = [
    "addons.cluster.x-k8s.io",
    "bootstrap.cluster.x-k8s.io",
    "cluster.x-k8s.io",
    "controlplane.cluster.x-k8s.io",
    "ipam.cluster.x-k8s.io",
    "runtime.cluster.x-k8s.io",
];
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
        let counted = if is_list(&object) {
            kinds.convert_items(&mut object)?
        } else {
            kinds.convert_in_place(&mut object, "resource", index)?
        };
        result.converted += counted.converted;
        result.unchanged += counted.unchanged;
        if index > 0 {
            result.text.push_str("---\n");
        }
        result.text.push_str(&yaml::write(&object)?);
    }
    Ok(result)
}

/// Returns whether the object is a list of objects of any kinds.
fn is_list(object: &Value) -> bool {
    text_of(object, "apiVersion") == "v1" && text_of(object, "kind") == "List"
}

/// How many objects were converted, and how many were not.
#[derive(Clone, Copy, Default)]
struct Counted {
    converted: usize,
    unchanged: usize,
}

/// The schemas of the versions of each kind, by group and kind, and by the name of the version.
struct Kinds(BTreeMap<(String, String), BTreeMap<String, Schema>>);

impl Kinds {
    /// Reads the kinds of [`GROUPS`] that have the target version.
    fn read() -> Result<Self> {
        let built_in = |why: String| Error::invalid(format!("a built-in definition: {why}"));
        let mut kinds = BTreeMap::new();
        for definition in schemas::crds().map_err(|why| built_in(why.to_string()))? {
            let spec = &definition["spec"];
            let group = text_of(spec, "group");
            if !GROUPS.contains(&group) {
                continue;
            }
            let mut versions = BTreeMap::new();
            for version in spec["versions"].as_array().into_iter().flatten() {
                let schema = Schema::parse(&version["schema"]["openAPIV3Schema"]);
                let schema = schema.map_err(|why| built_in(why.to_string()))?;
                versions.insert(text_of(version, "name").to_owned(), schema);
            }
            if versions.contains_key(TARGET) {
                kinds.insert((group.to_owned(), text_of(&spec["names"], "kind").to_owned()), versions);
            }
        }
        Ok(Self(kinds))
    }

    /// Converts the items of a list. A list of which none is converted counts as one object.
    fn convert_items(&self, list: &mut Value) -> Result<Counted> {
        let mut all = Counted::default();
        let items = list.get_mut("items").and_then(Value::as_array_mut);
        for (index, item) in items.into_iter().flatten().enumerate() {
            let counted = self.convert_in_place(item, "List item", index)?;
            all.converted += counted.converted;
            all.unchanged += counted.unchanged;
        }
        Ok(if all.converted == 0 { Counted { unchanged: 1, ..all } } else { all })
    }

    /// Converts an object, if it is of an older version of a known kind.
    fn convert_in_place(&self, object: &mut Value, what: &str, index: usize) -> Result<Counted> {
        let api_version = text_of(object, "apiVersion").to_owned();
        let kind = text_of(object, "kind").to_owned();
        let (group, version) = group_version(&api_version);
        let known = self.0.get(&(group.to_owned(), kind.clone()));
        let Some(versions) = known.filter(|known| version != TARGET && known.contains_key(version)) else {
            return Ok(Counted { converted: 0, unchanged: 1 });
        };
        let failed = || format!("failed to convert {what} {api_version}, Kind={kind} at index {index}");
        *object = convert(versions, group, &kind, object.take()).context(failed)?;
        Ok(Counted { converted: 1, unchanged: 0 })
    }
}

/// Converts an object to the target version.
fn convert(versions: &BTreeMap<String, Schema>, group: &str, kind: &str, mut object: Value) -> Result<Value> {
    if converts(group, kind) {
        check_fields(group, &object).map_err(|errors| {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            Error::invalid(errors.join(", "))
        })?;
        let schema = |version: &str| versions.get(version);
        let server = Server { schema: &schema, contract_version: &|_, _| None };
        object = to_version(group, object, TARGET, &server);
    }
    object["apiVersion"] = format!("{group}/{TARGET}").into();
    Ok(object)
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
