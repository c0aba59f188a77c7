//! What changes of objects mean for the reader of a plan. Pure.

use engine::names::{CONTROL_PLANE, CONTROL_PLANE_NAME, DEPLOYMENT_NAME, POOL_NAME, SET_NAME};
use machinery::meta::{is_deleting, name, namespace};
use serde::Serialize;
use serde_json::Value;

use super::object::{Reference, label};
use super::view::{Change, View};

/// What happens to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Verb {
    /// The object is created.
    Create,
    /// The object is changed; a Machine that runs keeps running.
    Update,
    /// The object takes another template.
    Rotate,
    /// The object is deleted.
    Delete,
}

/// Kinds of which nobody plans anything.
const UNPLANNED: [&str; 4] = ["IPAddress", "IPAddressClaim", "ClusterResourceSetBinding", "MachineDrainRule"];
/// The labels of Machines, which their infrastructure and bootstrap objects have, too.
const OF_MACHINES: [&str; 3] = [SET_NAME, CONTROL_PLANE, POOL_NAME];
/// Fields that controllers fill in, by kind; the kind `""` stands for all.
const FILLED_IN: [(&str, &str); 9] = [
    ("", "spec.controlPlaneEndpoint"),
    ("", "spec.providerID"),
    ("", "spec.providerIDList"),
    ("Cluster", "spec.controlPlaneRef"),
    ("Cluster", "spec.infrastructureRef"),
    ("Machine", "spec.bootstrap.dataSecretName"),
    ("MachinePool", "spec.template.spec.bootstrap.dataSecretName"),
    ("MachineSet", "spec.replicas"),
    ("MachineSet", "spec.deletion"),
];
/// The fields that are named first, and how the reader calls them.
const NAMED: [(&str, &str); 4] = [
    ("spec.version", "version"),
    ("spec.template.spec.version", "version"),
    ("spec.topology.version", "version"),
    ("spec.replicas", "replicas"),
];
/// The most fields that a reason names.
const FIELDS: usize = 3;

/// Returns what a change is and why it happens; `None` if it is not for the reader. `view` is the state after it.
pub fn action(change: &Change, view: &View) -> Option<(Verb, String)> {
    if is_part(change.object()) {
        return None;
    }
    match (&change.old, &change.new) {
        (None, Some(new)) => Some((Verb::Create, why_created(new))),
        (Some(old), Some(new)) if is_deleting(new) => {
            (!is_deleting(old)).then(|| (Verb::Delete, why_deleted(old, view)))
        }
        (Some(old), Some(new)) => updated(old, new),
        (Some(old), None) => (!is_deleting(old)).then(|| (Verb::Delete, why_deleted(old, view))),
        (None, None) => None,
    }
}

/// Returns whether an object is a part of a machine, or one of no interest.
fn is_part(object: &Value) -> bool {
    let Reference { group, kind, .. } = Reference::of(object);
    if group == "cluster.x-k8s.io" {
        return UNPLANNED.contains(&kind);
    }
    let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    let mut owners = owners.filter_map(|owner| owner["kind"].as_str());
    let is_labelled = OF_MACHINES.iter().any(|name| label(object, name).is_some());
    is_labelled
        || owners.any(|owner| ["Machine", "MachinePool"].contains(&owner))
        || UNPLANNED.contains(&kind)
}

fn why_created(object: &Value) -> String {
    let version =
        object["spec"]["version"].as_str().or(object["spec"]["template"]["spec"]["version"].as_str());
    let version = version.map(|version| format!("version {version}"));
    let owner = match label(object, DEPLOYMENT_NAME) {
        Some(deployment) => Some(format!("MachineDeployment {deployment}")),
        None => label(object, CONTROL_PLANE_NAME).map(|name| format!("control plane {name}")),
    };
    let replicas = object["spec"]["replicas"].as_i64().filter(|_| object["kind"] != "MachineSet");
    let replicas = replicas.map(|replicas| format!("{replicas} replicas"));
    let parts: Vec<String> = [version, replicas, owner].into_iter().flatten().collect();
    parts.join(", ")
}

/// Returns why an object is deleted: what its conditions say, or that nobody needs it.
fn why_deleted(object: &Value, view: &View) -> String {
    if object["kind"] != "Machine" {
        return "no longer needed".to_owned();
    }
    let failed = |type_: &str| {
        let condition = condition(object, type_)?;
        (condition["status"] == "False")
            .then(|| first_line(condition["message"].as_str().unwrap_or_default()))
    };
    // Remediation deletes a Machine whatever its version is.
    if let Some(why) = failed("HealthCheckSucceeded").filter(|_| failed("OwnerRemediated").is_some()) {
        return format!("unhealthy: {why}");
    }
    if let Some(why) = failed("UpToDate").filter(|why| !why.is_empty()) {
        return why;
    }
    match outdated(object, view) {
        Some(why) => why,
        None => "scaled down".to_owned(),
    }
}

/// Compares the version of a Machine with its MachineDeployment, because the conditions of the Machine may be older. Returns both versions if they differ.
fn outdated(machine: &Value, view: &View) -> Option<String> {
    let version = machine["spec"]["version"].as_str()?;
    let deployment = label(machine, DEPLOYMENT_NAME)?;
    let reference = Reference {
        group: "cluster.x-k8s.io",
        kind: "MachineDeployment",
        namespace: namespace(machine),
        name: deployment,
    };
    let wanted = view.get(&reference)?["spec"]["template"]["spec"]["version"].as_str()?;
    (wanted != version).then(|| format!("Version {version}, {wanted} required"))
}

fn condition<'a>(object: &'a Value, type_: &str) -> Option<&'a Value> {
    object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == type_)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim_start_matches("* ").to_owned()
}

fn updated(old: &Value, new: &Value) -> Option<(Verb, String)> {
    let kind = new["kind"].as_str().unwrap_or_default();
    if let Some(reason) = rotated(old, new) {
        return Some((Verb::Rotate, reason));
    }
    let mut fields = Vec::new();
    differences("spec", &old["spec"], &new["spec"], &mut fields);
    let is_filled_in = |path: &str| {
        let starts = |field: &str| {
            path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        FILLED_IN.iter().any(|(of, field)| (of.is_empty() || *of == kind) && starts(field))
    };
    fields.retain(|(path, ..)| !is_filled_in(path));
    let rank = |path: &str| NAMED.iter().position(|(named, _)| *named == path).unwrap_or(NAMED.len());
    fields.sort_by_key(|(path, ..)| rank(path));
    // Controllers label what they own; only labels of running Machines reach Nodes.
    if fields.is_empty() && kind == "Machine" && new["status"]["nodeRef"].is_object() {
        differences("labels", &old["metadata"]["labels"], &new["metadata"]["labels"], &mut fields);
    }
    (!fields.is_empty()).then(|| (Verb::Update, reason(&fields)))
}

type Difference<'a> = (String, &'a Value, &'a Value);

fn reason(fields: &[Difference<'_>]) -> String {
    let named = |path: &str| {
        let found = NAMED.iter().find(|(named, _)| *named == path).map(|(_, name)| (*name).to_owned());
        found.unwrap_or_else(|| path.strip_prefix("spec.").unwrap_or(path).to_owned())
    };
    let words = |(path, old, new): &Difference<'_>| match (short(old), short(new)) {
        (Some(old), Some(new)) => format!("{} {old} → {new}", named(path)),
        (None, Some(new)) if old.is_null() => format!("{} {new}", named(path)),
        _ => named(path),
    };
    let mut parts: Vec<String> = fields.iter().take(FIELDS).map(words).collect();
    if fields.len() > FIELDS {
        parts.push(format!("{} more fields", fields.len() - FIELDS));
    }
    parts.join(", ")
}

/// Returns a value that is short enough for a line.
fn short(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if text.chars().count() <= 40 => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

/// Returns the templates that an object takes in place of others.
fn rotated(old: &Value, new: &Value) -> Option<String> {
    const REFERENCES: [&str; 4] = [
        "/spec/machineTemplate/spec/infrastructureRef",
        "/spec/template/spec/infrastructureRef",
        "/spec/template/spec/bootstrap/configRef",
        "/spec/machineTemplate/infrastructureRef",
    ];
    let moved = |pointer: &&str| {
        let (before, after) = (old.pointer(pointer)?, new.pointer(pointer)?);
        let kind = after["kind"].as_str()?;
        (before["name"] != after["name"]).then(|| {
            format!(
                "{kind} {} → {}",
                before["name"].as_str().unwrap_or_default(),
                after["name"].as_str().unwrap_or_default()
            )
        })
    };
    let mut moved: Vec<String> = REFERENCES.iter().filter_map(moved).collect();
    if moved.is_empty() {
        return None;
    }
    let version = |object: &Value| {
        let of_template = &object["spec"]["template"]["spec"]["version"];
        object["spec"]["version"].as_str().or(of_template.as_str()).map(str::to_owned)
    };
    if let (Some(before), Some(after)) = (version(old), version(new))
        && before != after
    {
        moved.insert(0, format!("version {before} → {after}"));
    }
    Some(moved.join(", "))
}

/// Adds the fields in which two values differ, with their paths. Lists are compared as a whole.
fn differences<'a>(path: &str, old: &'a Value, new: &'a Value, found: &mut Vec<Difference<'a>>) {
    if old == new {
        return;
    }
    let (Value::Object(before), Value::Object(after)) = (old, new) else {
        found.push((path.to_owned(), old, new));
        return;
    };
    let names: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for field in names {
        let (old, new) =
            (before.get(field).unwrap_or(&Value::Null), after.get(field).unwrap_or(&Value::Null));
        differences(&format!("{path}.{field}"), old, new, found);
    }
}

/// Returns how an object is called in a plan, such as `Machine default/blue-x7x2f`.
pub fn spoken(object: &Value) -> String {
    let kind = object["kind"].as_str().unwrap_or_default();
    match namespace(object) {
        "" => format!("{kind} {}", name(object)),
        space => format!("{kind} {space}/{}", name(object)),
    }
}
