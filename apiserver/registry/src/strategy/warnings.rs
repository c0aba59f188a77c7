//! Warnings about valid but questionable fields. The server adds them to the response when an object of a built-in kind
//! is written.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use machinery::field::quote;
use machinery::meta;
use machinery::names::dns1123_label;
use serde_json::Value;

/// Deprecated node labels, with the advice of kube-apiserver.
const NODE_LABELS: [(&str, &str); 8] = [
    ("beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"),
    ("beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
    ("node-role.kubernetes.io/master", "use \"node-role.kubernetes.io/control-plane\" instead"),
];

/// Volume sources whose drivers are deprecated or removed.
const VOLUMES: [(&str, &str); 9] = [
    ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
const NO_SELECTOR: &str = "a null labelSelector results in matching no pod";

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

fn annotated(object: &Value, key: &str) -> bool {
    meta::annotations(object).is_some_and(|annotations| annotations.contains_key(key))
}

fn node_label(key: &str) -> Option<&'static str> {
    NODE_LABELS.iter().find(|(label, _)| *label == key).map(|(_, advice)| *advice)
}

/// Returns the warnings for a written object of a built-in kind. `old` is the object before an update.
pub(crate) fn of(group: &str, kind: &str, object: &Value, old: Option<&Value>) -> Vec<String> {
    let mut found = Vec::new();
    let spec = &object["spec"];
    // Workloads get warnings only when their spec changes.
    let wanted = old.is_none_or(|old| old["spec"] != *spec);
    match (group, kind) {
        ("", "Pod") => {
            if old.is_none() {
                found.extend(label_name(object, "the Pod's hostname"));
            }
            pod("", object, false, &mut found);
        }
        ("", "PodTemplate") => pod("template.", &object["template"], true, &mut found),
        ("apps", "DaemonSet") if wanted => template(spec, &mut found),
        ("apps", "StatefulSet") if wanted => {
            template(spec, &mut found);
            if spec["revisionHistoryLimit"].as_i64().is_some_and(|limit| limit < 0) {
                found.push(
                    "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is \
                     recommended"
                        .into(),
                );
            }
            for (at, claim) in list(spec, "volumeClaimTemplates").iter().enumerate() {
                storage(&claim["spec"], &format!("spec.volumeClaimTemplates[{at}]"), &mut found);
            }
        }
        ("apps", "Deployment" | "ReplicaSet") | ("batch", "Job") | ("", "ReplicationController")
            if wanted =>
        {
            if old.is_none() {
                found.extend(label_name(object, "Pod names and hostnames"));
            }
            if kind == "Job" {
                many_indexes(spec, "spec", &mut found);
            }
            template(spec, &mut found);
        }
        ("batch", "CronJob") if wanted => {
            if old.is_none() {
                found.extend(label_name(object, "Pod names and hostnames"));
            }
            pod(
                "spec.jobTemplate.spec.template.",
                &spec["jobTemplate"]["spec"]["template"],
                true,
                &mut found,
            );
        }
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            found.extend(apiextensions::crd::format_warnings(object, old));
        }
        ("", "Service") => service(object, &mut found),
        ("", "Secret") => found.extend(tls(object)),
        ("", "PersistentVolume") => volume(object, &mut found),
        ("", "PersistentVolumeClaim") => {
            beta_class(object, &mut found);
            storage(spec, "spec", &mut found);
        }
        ("storage.k8s.io", "StorageClass") => storage_class(object, &mut found),
        ("networking.k8s.io", "Ingress") if old.is_none() => {
            const CLASS: &str = "kubernetes.io/ingress.class";
            if annotated(object, CLASS) && spec["ingressClassName"].is_null() {
                found.push(format!(
                    "annotation \"{CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"
                ));
            }
        }
        ("discovery.k8s.io", "EndpointSlice") if object["addressType"] == "FQDN" => {
            found.push("spec.addressType: FQDN endpoints are deprecated".into());
        }
        ("", "Node") if !text(spec, "externalID").is_empty() => {
            found.push("spec.externalID: this field is deprecated, and is unused by Kubernetes".into());
        }
        ("node.k8s.io", "RuntimeClass") => {
            let selector = object["scheduling"]["nodeSelector"].as_object();
            let advice = selector.into_iter().flatten().filter_map(|(key, _)| node_label(key));
            found.extend(advice.map(|advice| format!("scheduling.nodeSelector: {advice}")));
        }
        _ => {}
    }
    found
}

/// Number of completions of an Indexed Job above which its status may not track all indexes.
const INDEXES_MANY: i64 = 100_000;
/// Parallelism above which the warning about completions applies.
const PARALLEL_MANY: i64 = 10_000;

fn many_indexes(spec: &Value, at: &str, found: &mut Vec<String>) {
    let number = |field: &str| spec[field].as_i64().unwrap_or(0);
    let many = number("completions") > INDEXES_MANY && number("parallelism") > PARALLEL_MANY;
    if spec["completionMode"] == "Indexed" && many {
        found.push(format!(
            "{at}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, \
             Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
        ));
    }
}

fn template(spec: &Value, found: &mut Vec<String>) {
    pod("spec.template.", &spec["template"], true, found);
}

/// Returns a warning if the name of a workload is not a DNS label, because pod names and host names are derived from
/// it.
fn label_name(object: &Value, place: &str) -> Option<String> {
    let problems = dns1123_label(meta::name(object));
    (!problems.is_empty()).then(|| {
        format!(
            "metadata.name: this is used in {place}, which can result in surprising behavior; a DNS label is \
             recommended: [{}]",
            problems.join(" ")
        )
    })
}

/// Adds the warnings for a pod or a pod template. `at` is the path prefix of its fields, with a trailing dot.
fn pod(at: &str, object: &Value, is_template: bool, found: &mut Vec<String>) {
    let spec = &object["spec"];
    for (key, _) in spec["nodeSelector"].as_object().into_iter().flatten() {
        found.extend(node_label(key).map(|advice| format!("{at}spec.nodeSelector[{key}]: {advice}")));
    }
    node_affinity(at, &spec["affinity"]["nodeAffinity"], found);
    for (index, constraint) in list(spec, "topologySpreadConstraints").iter().enumerate() {
        let path = format!("{at}spec.topologySpreadConstraints[{index}]");
        let key = text(constraint, "topologyKey");
        found.extend(node_label(key).map(|advice| format!("{path}.topologyKey: {key} is {advice}")));
        if constraint["labelSelector"].is_null() {
            found.push(format!("{path}.labelSelector: {NO_SELECTOR}"));
        }
    }
    annotations(at, object, found);
    for (index, volume) in list(spec, "volumes").iter().enumerate() {
        let path = format!("{at}spec.volumes[{index}]");
        for (name, why) in VOLUMES.iter().filter(|(name, _)| !volume[*name].is_null()) {
            let shown = if *name == "storageos" { "storageOS" } else { name };
            found.push(format!("{path}.{shown}: {why}"));
        }
        let sources = list(&volume["projected"], "sources");
        if !volume["projected"].is_null()
            && (sources.is_empty()
                || sources.iter().any(|one| one.as_object().is_some_and(serde_json::Map::is_empty)))
        {
            found.push(format!("volume {} (Projected) has no sources provided", quote(text(volume, "name"))));
        }
        let claim = &volume["ephemeral"]["volumeClaimTemplate"]["spec"];
        storage(claim, &format!("{path}.ephemeral.volumeClaimTemplate.spec"), found);
    }
    names_twice(at, spec, found);
    for resource in ["memory", "ephemeral-storage"] {
        fraction(&spec["overhead"], resource, &format!("{at}spec.overhead"), found);
    }
    containers(at, object, is_template, found);
    ports(at, spec, found);
    if spec["terminationGracePeriodSeconds"].as_i64().is_some_and(|seconds| seconds < 0) {
        found.push(format!(
            "{at}spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
        ));
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        for (how, inner) in [
            ("requiredDuringSchedulingIgnoredDuringExecution", None),
            ("preferredDuringSchedulingIgnoredDuringExecution", Some("podAffinityTerm")),
        ] {
            for (index, term) in list(&spec["affinity"][kind], how).iter().enumerate() {
                let term = inner.map_or(term, |inner| &term[inner]);
                let part = inner.map(|inner| format!(".{inner}")).unwrap_or_default();
                if term["labelSelector"].is_null() {
                    found.push(format!(
                        "{at}spec.affinity.{kind}.{how}[{index}]{part}.labelSelector: {NO_SELECTOR}"
                    ));
                }
            }
        }
    }
}

fn node_affinity(at: &str, affinity: &Value, found: &mut Vec<String>) {
    let path = format!("{at}spec.affinity.nodeAffinity");
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    for (index, term) in list(&affinity[required], "nodeSelectorTerms").iter().enumerate() {
        term_labels(term, &format!("{path}.{required}.nodeSelectorTerms[{index}]"), found);
    }
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    for (index, term) in list(affinity, preferred).iter().enumerate() {
        term_labels(&term["preference"], &format!("{path}.{preferred}[{index}].preference"), found);
    }
}

fn term_labels(term: &Value, path: &str, found: &mut Vec<String>) {
    for (index, expression) in list(term, "matchExpressions").iter().enumerate() {
        let key = text(expression, "key");
        let advice = node_label(key);
        found.extend(advice.map(|why| format!("{path}.matchExpressions[{index}].key: {key} is {why}")));
    }
}

fn annotations(at: &str, object: &Value, found: &mut Vec<String>) {
    const CRITICAL: &str = "scheduler.alpha.kubernetes.io/critical-pod";
    let given = |key: &str| annotated(object, key);
    let path = format!("{at}metadata.annotations");
    if given(CRITICAL) {
        found.push(format!(
            "{path}[{CRITICAL}]: non-functional in v1.16+; use the \"priorityClassName\" field instead"
        ));
    }
    const SYSCTLS: &str = "security.alpha.kubernetes.io/sysctls";
    if given(SYSCTLS) {
        found.push(format!("{path}[{SYSCTLS}]: non-functional in v1.11+; use the \"sysctls\" field instead"));
    }
    const SECCOMP: &str = "seccomp.security.alpha.kubernetes.io/pod";
    if object["spec"]["securityContext"]["seccompProfile"].is_null() && given(SECCOMP) {
        found.push(format!(
            "{path}[{SECCOMP}]: non-functional in v1.27+; use the \"seccompProfile\" field instead"
        ));
    }
}

fn names_twice(at: &str, spec: &Value, found: &mut Vec<String>) {
    for (field, key, what) in [("hostAliases", "ip", "ip"), ("imagePullSecrets", "name", "name")] {
        let mut seen = BTreeSet::new();
        for (index, item) in list(spec, field).iter().enumerate() {
            let value = text(item, key);
            if !seen.insert(value) {
                found.push(format!("{at}spec.{field}[{index}].{key}: duplicate {what} {}", quote(value)));
            }
        }
    }
    for (index, secret) in list(spec, "imagePullSecrets").iter().enumerate() {
        if text(secret, "name").is_empty() {
            found.push(format!("{at}spec.imagePullSecrets[{index}].name: invalid empty name \"\""));
        }
    }
}

/// Returns the containers of a pod with their paths, in the order in which kube-apiserver checks them.
fn all_containers<'v>(at: &str, spec: &'v Value) -> Vec<(String, &'v Value)> {
    let kinds = ["initContainers", "containers", "ephemeralContainers"];
    let of = |kind: &'static str| {
        let items = list(spec, kind).iter().enumerate();
        items.map(move |(index, container)| (format!("{at}spec.{kind}[{index}]"), container))
    };
    kinds.into_iter().flat_map(of).collect()
}

fn containers(at: &str, object: &Value, is_template: bool, found: &mut Vec<String>) {
    let own = &object["spec"]["securityContext"];
    for (path, container) in all_containers(at, &object["spec"]) {
        let context = &container["securityContext"];
        let by_name = |prefix: &str| {
            let key = format!("{prefix}{}", text(container, "name"));
            annotated(object, &key).then(|| format!("{at}metadata.annotations[{key}]"))
        };
        if context["seccompProfile"].is_null()
            && let Some(place) = by_name("container.seccomp.security.alpha.kubernetes.io/")
        {
            found
                .push(format!("{place}: non-functional in v1.27+; use the \"seccompProfile\" field instead"));
        }
        let own_profile = context["appArmorProfile"].is_null() && own["appArmorProfile"].is_null();
        if (!is_template || own_profile)
            && let Some(place) = by_name("container.apparmor.security.beta.kubernetes.io/")
        {
            found.push(format!("{place}: deprecated since v1.30; use the \"appArmorProfile\" field instead"));
        }
        for resource in ["memory", "ephemeral-storage"] {
            for kind in ["limits", "requests"] {
                let amounts = &container["resources"][kind];
                fraction(amounts, resource, &format!("{path}.resources.{kind}"), found);
            }
        }
        let mut seen = BTreeSet::new();
        for (index, variable) in list(container, "env").iter().enumerate() {
            let name = text(variable, "name");
            let (value, before) = (text(variable, "value"), format!("$({name})"));
            let extends = variable["valueFrom"].is_null() && value != before && value.contains(&before);
            if !seen.insert(name) && !extends {
                found.push(format!(
                    "{path}.env[{index}]: hides previous definition of {}, which may be dropped when using apply",
                    quote(name)
                ));
            }
        }
    }
}

fn ports(at: &str, spec: &Value, found: &mut Vec<String>) {
    type Port<'v> = (String, i64, &'v str);
    let mut seen: BTreeMap<(i64, &str), Vec<Port<'_>>> = BTreeMap::new();
    let all: Vec<(String, &Value)> = all_containers(at, spec)
        .into_iter()
        .flat_map(|(path, container)| {
            let ports = list(container, "ports").iter().enumerate();
            ports.map(move |(index, port)| (format!("{path}.ports[{index}]"), port)).collect::<Vec<_>>()
        })
        .collect();
    for (path, port) in &all {
        let (number, protocol) = (port["containerPort"].as_i64().unwrap_or(0), text(port, "protocol"));
        let (host, ip) = (port["hostPort"].as_i64().unwrap_or(0), text(port, "hostIP"));
        if host == 0 && !ip.is_empty() {
            found.push(format!(
                "{path}: hostIP set without hostPort: {{Name:{} HostPort:0 ContainerPort:{number} Protocol:{protocol} \
                 HostIP:{ip}}}",
                text(port, "name")
            ));
        }
        let others = seen.entry((number, if protocol.is_empty() { "TCP" } else { protocol })).or_default();
        for (other, other_host, other_ip) in others.iter() {
            let how = if (ip, host) == (*other_ip, *other_host) {
                "duplicate"
            } else if host == 0 || *other_host == 0 {
                "overlapping"
            } else if host == *other_host && ip.is_empty() != other_ip.is_empty() {
                "dangerously ambiguous"
            } else {
                continue;
            };
            found.push(format!("{path}: {how} port definition with {other}"));
        }
        others.push((path.clone(), host, ip));
    }
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    for (path, port) in &all {
        let name = text(port, "name");
        if name.is_empty() {
            continue;
        }
        match names.get(name) {
            Some(other) => found.push(format!(
                "{path}: duplicate port name {} with {other}, services and probes that select ports by name will use {other}",
                quote(name)
            )),
            None => drop(names.insert(name, path)),
        }
    }
}

/// Adds a warning for an amount of bytes with a fraction.
fn fraction(amounts: &Value, resource: &str, path: &str, found: &mut Vec<String>) {
    let amount = text(amounts, resource);
    // Amounts are in canonical form here.
    if amount.ends_with(['m', 'u', 'n']) {
        found.push(format!(
            "{path}[{resource}]: fractional byte value {} is invalid, must be an integer",
            quote(amount)
        ));
    }
}

fn storage(spec: &Value, path: &str, found: &mut Vec<String>) {
    for kind in ["requests", "limits"] {
        fraction(&spec["resources"][kind], "storage", &format!("{path}.resources.{kind}"), found);
    }
}

fn service(object: &Value, found: &mut Vec<String>) {
    const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
    let spec = &object["spec"];
    let kind = text(spec, "type");
    if annotated(object, HINTS) {
        found.push(format!(
            "annotation {HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead"
        ));
    }
    let external = !list(spec, "externalIPs").is_empty();
    let headless = matches!(kind, "" | "ClusterIP") && text(spec, "clusterIP") == "None";
    if headless {
        let ignored = [
            ("spec.loadBalancerIP", !text(spec, "loadBalancerIP").is_empty()),
            ("spec.externalIPs", external),
            ("spec.SessionAffinity", !matches!(text(spec, "sessionAffinity"), "None" | "")),
        ];
        let ignored = ignored.into_iter().filter(|(_, given)| *given);
        found.extend(ignored.map(|(field, _)| format!("{field} is ignored for headless services")));
    }
    if external && !headless && kind != "ExternalName" {
        found.push("spec.externalIPs is deprecated and may no longer be implemented in some clusters".into());
    }
    if external && kind == "ExternalName" {
        found.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".into());
    }
    if kind != "ExternalName" && !text(spec, "externalName").is_empty() {
        found.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".into());
    }
    if text(spec, "trafficDistribution") == "PreferClose" {
        found.push("spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"".into());
    }
}

/// Returns a warning about a TLS Secret whose data has no PEM certificate or key. Such Secrets are valid.
fn tls(object: &Value) -> Option<String> {
    if text(object, "type") != "kubernetes.io/tls" {
        return None;
    }
    let part = |name: &str| {
        let bytes = STANDARD.decode(text(&object["data"], name)).unwrap_or_default();
        pem_labels(&String::from_utf8_lossy(&bytes))
    };
    let (certificate, key) = (part("tls.crt"), part("tls.key"));
    let shown = |labels: &[String]| labels.join(" ");
    if !certificate.iter().any(|label| label == "CERTIFICATE") {
        return Some(match certificate.as_slice() {
            [] => "tls: failed to find any PEM data in certificate input".to_owned(),
            [one] if one.ends_with("PRIVATE KEY") => {
                "tls: failed to find certificate PEM data in certificate input, but did find a private key; \
                 PEM inputs may have been switched"
                    .to_owned()
            }
            labels => format!(
                "tls: failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks \
                 of the following types: [{}]",
                shown(labels)
            ),
        });
    }
    if key.iter().any(|label| label.ends_with("PRIVATE KEY")) {
        return None;
    }
    Some(match key.as_slice() {
        [] => "tls: failed to find any PEM data in key input".to_owned(),
        [one] if one == "CERTIFICATE" => {
            "tls: found a certificate rather than a key in the PEM for the private key".to_owned()
        }
        labels => format!(
            "tls: failed to find PEM block with type ending in \"PRIVATE KEY\" in key input after skipping PEM \
             blocks of the following types: [{}]",
            shown(labels)
        ),
    })
}

/// Returns the labels of the well-formed PEM blocks of a text.
fn pem_labels(pem: &str) -> Vec<String> {
    let mut labels = Vec::new();
    let mut rest = pem;
    while let Some((_, after)) = rest.split_once("-----BEGIN ") {
        let Some((label, body)) = after.split_once("-----") else { break };
        let end = format!("-----END {label}-----");
        match body.split_once(&end) {
            Some((body, behind)) => {
                let body: String = body.split_ascii_whitespace().collect();
                if STANDARD.decode(body).is_ok() {
                    labels.push(label.to_owned());
                }
                rest = behind;
            }
            None => rest = body,
        }
    }
    labels
}

fn beta_class(object: &Value, found: &mut Vec<String>) {
    if annotated(object, BETA_CLASS) {
        found.push(format!(
            "metadata.annotations[{BETA_CLASS}]: deprecated since v1.8; use \"storageClassName\" attribute instead"
        ));
    }
}

fn volume(object: &Value, found: &mut Vec<String>) {
    beta_class(object, found);
    let spec = &object["spec"];
    if text(spec, "persistentVolumeReclaimPolicy") == "Recycle" {
        found.push(
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning."
                .into(),
        );
    }
    for (index, term) in list(&spec["nodeAffinity"]["required"], "nodeSelectorTerms").iter().enumerate() {
        term_labels(term, &format!("spec.nodeAffinity.required.nodeSelectorTerms[{index}]"), found);
    }
    for name in ["cephfs", "photonPersistentDisk", "scaleIO", "storageos", "glusterfs", "rbd"] {
        let why = VOLUMES.iter().find(|(volume, _)| *volume == name).map_or("", |(_, why)| why);
        if !spec[name].is_null() {
            let shown = if name == "storageos" { "storageOS" } else { name };
            found.push(format!("spec.{shown}: {why}"));
        }
    }
}

fn storage_class(object: &Value, found: &mut Vec<String>) {
    for (index, topology) in list(object, "allowedTopologies").iter().enumerate() {
        for (at, expression) in list(topology, "matchLabelExpressions").iter().enumerate() {
            let advice = node_label(text(expression, "key"));
            found.extend(
                advice
                    .map(|why| format!("allowedTopologies[{index}].matchLabelExpressions[{at}].key: {why}")),
            );
        }
    }
}
