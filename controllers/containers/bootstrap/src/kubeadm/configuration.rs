//! kubeadm's configuration file, made fit for a node in a container.
//!
//! The settings are those of Cluster API's provider (`cloudinit/writefiles.go`), as defaults: what the user has set, as a
//! flag or in a KubeletConfiguration of the same file, stays. Documents that need no change keep their text.

use serde_json::{Map, Value, json};

use crate::NodeOptions;
use crate::limits::{MAX_CONFIGURATION, MAX_DOCUMENTS};

/// The socket of the node's containerd.
const CRI_SOCKET: &str = "unix:///var/run/containerd/containerd.sock";

/// Flags of the kubelet: name, value, the field of a KubeletConfiguration that says the same.
type Flag = (&'static str, &'static str, Option<&'static str>);

/// For each node. The disk belongs to the machine: a kubelet that makes room on it would only remove images.
const ALWAYS: &[Flag] = &[
    ("image-gc-high-threshold", "100", Some("imageGCHighThresholdPercent")),
    ("eviction-hard", "nodefs.available<0%,nodefs.inodesFree<0%,imagefs.available<0%", Some("evictionHard")),
    ("fail-swap-on", "false", Some("failSwapOn")),
];
/// For nodes with a control group namespace of their own.
const OWN_CGROUP: &[Flag] = &[
    ("cgroup-root", "/kubelet", Some("cgroupRoot")),
    ("runtime-cgroups", "/system.slice/containerd.service", None),
];
/// For machines with version 1 of control groups.
const CGROUP_V1: &[Flag] = &[("fail-cgroupv1", "false", Some("failCgroupV1"))];

/// The value 0 leaves `net.netfilter.nf_conntrack_max` alone, which belongs to the whole machine.
const KUBE_PROXY: &str = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nconntrack:\n  \
                          maxPerCore: 0\n";

/// A document of the file.
struct Document<'t> {
    text: &'t str,
    value: Value,
    changed: bool,
}

impl Document<'_> {
    fn is(&self, kind: &str) -> bool {
        self.value.get("kind").and_then(Value::as_str) == Some(kind)
    }
}

/// Returns the file with the settings.
///
/// # Errors
/// The file is no YAML, or a field has another type than kubeadm's. The text has no values of the file.
pub fn adapt(text: &str, options: NodeOptions) -> Result<String, String> {
    let mut documents = read(text)?;
    let kubelet = documents.iter().find(|document| document.is("KubeletConfiguration"));
    let flags = flags(options, kubelet.map(|document| &document.value));
    let mut added = Vec::new();
    let is_node =
        |document: &&mut Document<'_>| document.is("InitConfiguration") || document.is("JoinConfiguration");
    let mut nodes = 0;
    for document in documents.iter_mut().filter(is_node) {
        document.changed |= registration(&mut document.value, &flags)?;
        nodes += 1;
    }
    let cluster = documents.iter().find(|document| document.is("ClusterConfiguration"));
    if let Some(cluster) = cluster.filter(|_| nodes == 0) {
        let mut init = json!({"apiVersion": cluster.value["apiVersion"], "kind": "InitConfiguration"});
        registration(&mut init, &flags)?;
        added.push(written(&init)?);
    }
    let initializes = cluster.is_some() || documents.iter().any(|document| document.is("InitConfiguration"));
    match documents.iter_mut().find(|document| document.is("KubeProxyConfiguration")) {
        Some(document) => document.changed |= conntrack(&mut document.value)?,
        None if initializes => added.push(KUBE_PROXY.to_owned()),
        None => {}
    }
    write(text, &documents, &added)
}

/// Reads the documents. Their texts follow each other without gaps.
fn read(text: &str) -> Result<Vec<Document<'_>>, String> {
    if text.len() > MAX_CONFIGURATION {
        return Err(format!("it is larger than {MAX_CONFIGURATION} bytes"));
    }
    let is_start = |line: &str| {
        line.strip_prefix("---").is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
    };
    // The first byte and the first line of each document.
    let mut starts = vec![(0, 1)];
    let mut at = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if at > 0 && is_start(line) {
            starts.push((at, index + 1));
        }
        at += line.len();
    }
    if starts.len() > MAX_DOCUMENTS {
        return Err(format!("it has more than {MAX_DOCUMENTS} documents"));
    }
    let ends = starts.iter().skip(1).map(|(start, _)| *start).chain([text.len()]);
    starts.iter().zip(ends).map(|((start, line), end)| document(&text[*start..end], *line)).collect()
}

fn document(text: &str, line: usize) -> Result<Document<'_>, String> {
    let decoded = machinery::decode::yaml(text.as_bytes())
        .map_err(|why| format!("the document that begins at line {line}: {why}"))?;
    Ok(Document { text, value: decoded.value, changed: false })
}

/// The flags that a node needs and its KubeletConfiguration does not set.
fn flags(options: NodeOptions, kubelet: Option<&Value>) -> Vec<(&'static str, &'static str)> {
    let own_cgroup = if options.own_cgroup { OWN_CGROUP } else { &[] };
    let cgroup_v1 = if options.cgroup_v1 { CGROUP_V1 } else { &[] };
    let is_set = |field: &Option<&str>| {
        field.and_then(|field| kubelet?.get(field)).is_some_and(|value| !value.is_null())
    };
    let all = ALWAYS.iter().chain(own_cgroup).chain(cgroup_v1);
    all.filter(|(_, _, field)| !is_set(field)).map(|(name, value, _)| (*name, *value)).collect()
}

/// Sets the defaults of `nodeRegistration`. Returns whether something changed.
fn registration(document: &mut Value, flags: &[(&str, &str)]) -> Result<bool, String> {
    let version = document.get("apiVersion").and_then(Value::as_str).unwrap_or_default().to_owned();
    // Versions before v1beta4 have a map.
    let as_map = ["v1beta1", "v1beta2", "v1beta3"].iter().any(|old| version.ends_with(&format!("/{old}")));
    let kind = document.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    let registration = object(document, "nodeRegistration", &kind)?;
    let mut changed = false;
    if registration.get("criSocket").and_then(Value::as_str).unwrap_or_default().is_empty() {
        registration.insert("criSocket".to_owned(), CRI_SOCKET.into());
        changed = true;
    }
    let empty = if as_map { json!({}) } else { json!([]) };
    let arguments = registration.entry("kubeletExtraArgs").or_insert(Value::Null);
    if arguments.is_null() {
        *arguments = empty;
    }
    let wrong = || format!("{kind}: nodeRegistration.kubeletExtraArgs has another form than {version} has");
    for (name, value) in flags {
        match arguments {
            Value::Object(map) if as_map => {
                changed |= !map.contains_key(*name);
                map.entry(*name).or_insert_with(|| (*value).into());
            }
            Value::Array(list) if !as_map => {
                if list.iter().all(|there| there.get("name").and_then(Value::as_str) != Some(name)) {
                    list.push(json!({"name": name, "value": value}));
                    changed = true;
                }
            }
            _ => return Err(wrong()),
        }
    }
    Ok(changed)
}

/// Sets `conntrack.maxPerCore`. Returns whether something changed.
fn conntrack(document: &mut Value) -> Result<bool, String> {
    let conntrack = object(document, "conntrack", "KubeProxyConfiguration")?;
    let is_set = conntrack.get("maxPerCore").is_some_and(|value| !value.is_null());
    if !is_set {
        conntrack.insert("maxPerCore".to_owned(), 0.into());
    }
    Ok(!is_set)
}

/// Returns an object in a document, which is made if it is not there.
fn object<'v>(document: &'v mut Value, name: &str, kind: &str) -> Result<&'v mut Map<String, Value>, String> {
    let wrong = || format!("{kind}: {name} is no object");
    let fields = document.as_object_mut().ok_or_else(wrong)?;
    let value = fields.entry(name).or_insert(Value::Null);
    if value.is_null() {
        *value = json!({});
    }
    value.as_object_mut().ok_or_else(wrong)
}

fn written(value: &Value) -> Result<String, String> {
    serde_saphyr::to_string(value).map_err(|_| "a document cannot be written as YAML".to_owned())
}

fn write(text: &str, documents: &[Document<'_>], added: &[String]) -> Result<String, String> {
    if added.is_empty() && documents.iter().all(|document| !document.changed) {
        return Ok(text.to_owned());
    }
    let mut out = String::with_capacity(text.len() + 1024);
    for document in documents {
        if document.changed {
            if document.text.starts_with("---") {
                out.push_str("---\n");
            }
            out.push_str(&written(&document.value)?);
        } else {
            out.push_str(document.text);
        }
        end_line(&mut out);
    }
    for document in added {
        out.push_str("---\n");
        out.push_str(document);
        end_line(&mut out);
    }
    Ok(out)
}

fn end_line(out: &mut String) {
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
}
