//! Defaults of a pod that depend on other fields.

use machinery::quantity;
use serde_json::{Map, Value, json};

/// The seconds that a pod stays on a node that is not ready or unreachable.
const TOLERATION_SECONDS: i64 = 300;

pub(crate) fn tolerate(spec: &mut Value) {
    let Some(spec) = spec.as_object_mut() else { return };
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
        if !tolerations.is_array() {
            *tolerations = json!([]);
        }
        let Some(list) = tolerations.as_array_mut() else { return };
        let matches =
            |field: &Value, wanted: &str| field.as_str().is_none_or(|text| text.is_empty() || text == wanted);
        let tolerated =
            list.iter().any(|one| matches(&one["key"], key) && matches(&one["effect"], "NoExecute"));
        if !tolerated {
            list.push(json!({
                "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": TOLERATION_SECONDS,
            }));
        }
    }
}

/// The lists of containers of a pod, in the order in which kube-apiserver checks them.
pub(super) const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

pub(crate) fn containers_mut(spec: &mut Value) -> impl Iterator<Item = &mut Value> {
    let lists = spec.as_object_mut().into_iter().flat_map(Map::iter_mut);
    let lists = lists.filter(|(name, _)| CONTAINERS.contains(&name.as_str()));
    lists.filter_map(|(_, list)| list.as_array_mut()).flatten()
}

/// Applies the defaults of a pod template.
pub(crate) fn default_template(template: &mut Value) {
    if let Some(spec) = template.get_mut("spec") {
        default_spec(spec, false);
    }
}

/// Applies the defaults of a pod spec. `is_pod` is false for the spec of a pod template.
pub(crate) fn default_spec(spec: &mut Value, is_pod: bool) {
    let host_network = spec["hostNetwork"] == true && is_pod;
    if is_pod && spec["terminationGracePeriodSeconds"].as_i64().is_some_and(|seconds| seconds < 0) {
        spec["terminationGracePeriodSeconds"] = 1.into();
    }
    for container in containers_mut(spec) {
        let Some(container) = container.as_object_mut() else { continue };
        for list in ["limits", "requests"] {
            let amounts = container.get_mut("resources").and_then(|resources| resources.get_mut(list));
            amounts
                .and_then(Value::as_object_mut)
                .into_iter()
                .flatten()
                .for_each(|(_, amount)| whole_milli(amount));
        }
        if !container.contains_key("imagePullPolicy") {
            let policy = pull_policy(container.get("image").and_then(Value::as_str).unwrap_or_default());
            container.insert("imagePullPolicy".into(), policy.into());
        }
        let ports = container.get_mut("ports").and_then(Value::as_array_mut);
        for port in ports.into_iter().flatten().filter(|_| host_network) {
            if port["hostPort"].is_null() {
                port["hostPort"] = port["containerPort"].clone();
            }
        }
    }
    for volume in spec.get_mut("volumes").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(image) = volume.get_mut("image").and_then(Value::as_object_mut) else { continue };
        let policy = pull_policy(image.get("reference").and_then(Value::as_str).unwrap_or_default());
        image.entry("pullPolicy").or_insert_with(|| policy.into());
    }
    for volume in spec.get_mut("volumes").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(volume) = volume.as_object_mut().filter(|volume| volume.keys().eq(["name"])) else {
            continue;
        };
        volume.insert("emptyDir".into(), json!({}));
    }
    // `serviceAccount` is the deprecated alias of `serviceAccountName`.
    let Some(spec) = spec.as_object_mut() else { return };
    let account =
        ["serviceAccountName", "serviceAccount"].into_iter().find_map(|name| spec.get(name).cloned());
    if let Some(account) = account {
        spec.insert("serviceAccountName".into(), account.clone());
        spec.insert("serviceAccount".into(), account);
    }
}

/// Rounds a resource amount up to whole thousandths.
fn whole_milli(amount: &mut Value) {
    let Some(text) = amount.as_str().filter(|text| text.ends_with(['u', 'n'])) else { return };
    let Some(value) = quantity::nanos(text) else { return };
    let milli = value.div_euclid(1_000_000) + i128::from(value.rem_euclid(1_000_000) != 0);
    *amount = quantity::canonical(&format!("{milli}m")).unwrap_or_default().into();
}

/// Returns the default pull policy: `Always` for the tag `latest` or no tag, otherwise `IfNotPresent`.
fn pull_policy(image: &str) -> &'static str {
    let (image, digest) = image.split_once('@').map_or((image, false), |(image, _)| (image, true));
    let name = image.rsplit('/').next().unwrap_or_default();
    let (path, tag) = name.split_once(':').unwrap_or((name, "latest"));
    // An image reference that cannot be parsed counts as one with a fixed tag.
    let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
    let readable = !path.is_empty() && path.bytes().all(good) && !image.contains(char::is_whitespace);
    if !readable {
        return "IfNotPresent";
    }
    if tag == "latest" && !digest { "Always" } else { "IfNotPresent" }
}
