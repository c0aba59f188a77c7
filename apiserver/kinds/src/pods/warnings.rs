//! Warnings about valid but questionable fields of pods and pod templates.

use std::collections::{BTreeMap, BTreeSet};

use machinery::field::quote;
use machinery::meta;
use machinery::names::dns1123_label;
use serde_json::Value;

use super::defaults::CONTAINERS;
use crate::fields::{annotated, list, text};
use crate::nodes::labels::{node_label, term_labels};
use crate::storage::warnings::{VOLUMES, fraction, storage};
use crate::subject::Change;

const NO_SELECTOR: &str = "a null labelSelector results in matching no pod";

/// Adds the warnings for a write to `found`.
pub(crate) fn of(change: &Change<'_>, found: &mut Vec<String>) {
    match (change.group, change.kind) {
        ("", "Pod") => {
            if change.old.is_none() {
                found.extend(label_name(change.object, "the Pod's hostname"));
            }
            pod("", change.object, false, found);
        }
        ("", "PodTemplate") => pod("template.", &change.object["template"], true, found),
        _ => {}
    }
}

/// Adds the warnings for the template of a workload to `found`.
pub(crate) fn template(spec: &Value, found: &mut Vec<String>) {
    pod("spec.template.", &spec["template"], true, found);
}

/// Returns a warning if the name of a workload is not a DNS label, because pod names and host names are derived from
/// it.
pub(crate) fn label_name(object: &Value, place: &str) -> Option<String> {
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
pub(crate) fn pod(at: &str, object: &Value, is_template: bool, found: &mut Vec<String>) {
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
    let of = |kind: &'static str| {
        let items = list(spec, kind).iter().enumerate();
        items.map(move |(index, container)| (format!("{at}spec.{kind}[{index}]"), container))
    };
    CONTAINERS.into_iter().flat_map(of).collect()
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
