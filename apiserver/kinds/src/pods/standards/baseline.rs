//! The checks of the level `baseline`, in the order of their names.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Check, Pod, Violation, containers, context, plural, quoted, setters, violation};
use crate::fields::{list, text};

/// The checks, each with the version from which on the level `restricted` has another one in its place.
pub(super) const CHECKS: [(u32, Check); 12] = [
    (u32::MAX, app_armor),
    (22, capabilities),
    (u32::MAX, host_namespaces),
    (0, host_paths),
    (u32::MAX, host_ports),
    (u32::MAX, hosts_of_probes),
    (u32::MAX, privileged),
    (35, proc_mount),
    (u32::MAX, se_linux),
    (19, seccomp),
    (u32::MAX, sysctls),
    (u32::MAX, host_process),
];

const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

fn app_armor(pod: &Pod<'_>) -> Option<Violation> {
    const FIELD: &str = "appArmorProfile";
    let own = bad_profile(pod.spec, FIELD);
    let bad = pod.bad(|container| bad_profile(container, FIELD).is_some());
    let types = pod.containers().filter_map(|container| bad_profile(container, FIELD));
    let types: BTreeSet<&str> = types.chain(own).collect();
    let allowed =
        |value: &str| value.is_empty() || value == "runtime/default" || value.starts_with("localhost/");
    let annotations = pod.annotations.as_object().into_iter().flatten();
    let annotations = annotations.filter_map(|(key, value)| Some((key, value.as_str()?)));
    let annotations: BTreeSet<String> = annotations
        .filter(|(key, value)| key.starts_with(APP_ARMOR) && !allowed(value))
        .map(|(key, value)| format!("{key}={value:?}"))
        .collect();
    let who = setters(own.is_some(), &bad).into_iter();
    let noted =
        (!annotations.is_empty()).then(|| plural(annotations.len(), "annotation", "annotations").to_owned());
    let who: Vec<String> = who.chain(noted).collect();
    let values: Vec<&str> = types.into_iter().chain(annotations.iter().map(String::as_str)).collect();
    if who.is_empty() {
        return None;
    }
    let reason = plural(values.len(), "forbidden AppArmor profile", "forbidden AppArmor profiles");
    violation(
        reason,
        format!("{} must not set AppArmor profile type to {}", who.join(" and "), quoted(&values)),
    )
}

const CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

fn capabilities(pod: &Pod<'_>) -> Option<Violation> {
    added(pod, &CAPABILITIES).and_then(|detail| violation("non-default capabilities", detail))
}

/// Says which containers add capabilities that are not allowed.
pub(super) fn added(pod: &Pod<'_>, allowed: &[&str]) -> Option<String> {
    fn bad<'v>(container: &'v Value, allowed: &[&str]) -> Vec<&'v str> {
        let added = list(&context(container)["capabilities"], "add").iter().filter_map(Value::as_str);
        added.filter(|one| !allowed.contains(one)).collect()
    }
    let names = pod.bad(|container| !bad(container, allowed).is_empty());
    if names.is_empty() {
        return None;
    }
    let all: BTreeSet<&str> = pod.containers().flat_map(|container| bad(container, allowed)).collect();
    Some(format!(
        "{} must not include {} in securityContext.capabilities.add",
        containers(&names),
        quoted(&all)
    ))
}

fn host_namespaces(pod: &Pod<'_>) -> Option<Violation> {
    let fields = ["hostNetwork", "hostPID", "hostIPC"].into_iter();
    let set: Vec<String> =
        fields.filter(|field| pod.spec[*field] == true).map(|field| format!("{field}=true")).collect();
    if set.is_empty() { None } else { violation("host namespaces", set.join(", ")) }
}

fn host_paths(pod: &Pod<'_>) -> Option<Violation> {
    let volumes = list(pod.spec, "volumes").iter().filter(|volume| !volume["hostPath"].is_null());
    let names: Vec<&str> = volumes.map(|volume| text(volume, "name")).collect();
    if names.is_empty() {
        return None;
    }
    violation("hostPath volumes", format!("{} {}", plural(names.len(), "volume", "volumes"), quoted(&names)))
}

fn host_ports(pod: &Pod<'_>) -> Option<Violation> {
    fn ports(container: &Value) -> impl Iterator<Item = u64> {
        let ports = list(container, "ports").iter();
        ports.filter_map(|port| port["hostPort"].as_u64()).filter(|port| *port != 0)
    }
    let names = pod.bad(|container| ports(container).next().is_some());
    if names.is_empty() {
        return None;
    }
    // Numbers are sorted as texts.
    let all: BTreeSet<String> = pod.containers().flat_map(ports).map(|port| port.to_string()).collect();
    let all: Vec<String> = all.into_iter().collect();
    let (uses, words) = (plural(names.len(), "uses", "use"), plural(all.len(), "hostPort", "hostPorts"));
    violation("hostPort", format!("{} {uses} {words} {}", containers(&names), all.join(", ")))
}

fn hosts_of_probes(pod: &Pod<'_>) -> Option<Violation> {
    fn hosts(container: &Value) -> impl Iterator<Item = &str> {
        let probes = ["livenessProbe", "readinessProbe", "startupProbe"].map(|field| &container[field]);
        let hooks = ["postStart", "preStop"].map(|field| &container["lifecycle"][field]);
        let actions = probes.into_iter().chain(hooks).flat_map(|one| [&one["httpGet"], &one["tcpSocket"]]);
        actions.map(|action| text(action, "host")).filter(|host| !host.is_empty())
    }
    if pod.version < 34 {
        return None;
    }
    let mut names = pod.bad(|container| hosts(container).next().is_some());
    if names.is_empty() {
        return None;
    }
    names.sort_unstable();
    names.dedup();
    let all: BTreeSet<&str> = pod.containers().flat_map(hosts).collect();
    let uses = plural(names.len(), "uses", "use");
    let words = plural(all.len(), "probe or lifecycle host", "probe or lifecycle hosts");
    violation("probe or lifecycle host", format!("{} {uses} {words} {}", containers(&names), quoted(&all)))
}

fn privileged(pod: &Pod<'_>) -> Option<Violation> {
    let names = pod.bad(|container| context(container)["privileged"] == true);
    if names.is_empty() {
        return None;
    }
    violation("privileged", format!("{} must not set securityContext.privileged=true", containers(&names)))
}

fn proc_mount(pod: &Pod<'_>) -> Option<Violation> {
    if pod.version >= 35 && pod.has_own_users() { None } else { masked_proc(pod) }
}

/// Refuses to show more of `/proc` than usual.
pub(super) fn masked_proc(pod: &Pod<'_>) -> Option<Violation> {
    fn mount(container: &Value) -> Option<&str> {
        context(container)["procMount"].as_str().filter(|mount| *mount != "Default")
    }
    let names = pod.bad(|container| mount(container).is_some());
    if names.is_empty() {
        return None;
    }
    let all: BTreeSet<&str> = pod.containers().filter_map(mount).collect();
    let detail = format!("{} must not set securityContext.procMount to {}", containers(&names), quoted(&all));
    violation("procMount", detail)
}

fn se_linux(pod: &Pod<'_>) -> Option<Violation> {
    fn options(holder: &Value) -> &Value {
        &context(holder)["seLinuxOptions"]
    }
    let known = ["", "container_t", "container_init_t", "container_kvm_t"];
    let known_type = |kind: &str| known.contains(&kind) || kind == "container_engine_t" && pod.version >= 31;
    let is_bad = |options: &Value| {
        !known_type(text(options, "type"))
            || !text(options, "user").is_empty()
            || !text(options, "role").is_empty()
    };
    let own = options(pod.spec);
    let names = pod.bad(|container| is_bad(options(container)));
    let who = setters(is_bad(own), &names)?;
    let all: Vec<&Value> = pod.containers().map(options).chain([own]).collect();
    let types: BTreeSet<&str> =
        all.iter().map(|options| text(options, "type")).filter(|kind| !known_type(kind)).collect();
    let mut bad = Vec::new();
    if !types.is_empty() {
        bad.push(format!("{} {}", plural(types.len(), "type", "types"), quoted(&types)));
    }
    for field in ["user", "role"] {
        if all.iter().any(|options| !text(options, field).is_empty()) {
            bad.push(format!("{field} may not be set"));
        }
    }
    violation(
        "seLinuxOptions",
        format!("{who} set forbidden securityContext.seLinuxOptions: {}", bad.join("; ")),
    )
}

/// Returns the type of the profile in a field of the security context of a container or a pod, if it is not allowed.
pub(super) fn bad_profile<'v>(holder: &'v Value, field: &str) -> Option<&'v str> {
    let profile = &context(holder)[field];
    let kind = text(profile, "type");
    (profile.is_object() && !matches!(kind, "RuntimeDefault" | "Localhost")).then_some(kind)
}

/// The field of security contexts with the profile of seccomp.
pub(super) const SECCOMP: &str = "seccompProfile";

pub(super) fn seccomp(pod: &Pod<'_>) -> Option<Violation> {
    if pod.version < 19 {
        return annotated_seccomp(pod);
    }
    let own = bad_profile(pod.spec, SECCOMP);
    let names = pod.bad(|container| bad_profile(container, SECCOMP).is_some());
    let who = setters(own.is_some(), &names)?;
    let all = pod.containers().filter_map(|container| bad_profile(container, SECCOMP));
    let all: BTreeSet<&str> = all.chain(own).collect();
    violation(
        "seccompProfile",
        format!("{who} must not set securityContext.seccompProfile.type to {}", quoted(&all)),
    )
}

fn annotated_seccomp(pod: &Pod<'_>) -> Option<Violation> {
    let of_containers = pod.containers();
    let of_containers = of_containers
        .map(|one| format!("container.seccomp.security.alpha.kubernetes.io/{}", text(one, "name")));
    let keys = of_containers.chain(["seccomp.security.alpha.kubernetes.io/pod".to_owned()]);
    let allowed = |value: &str| {
        matches!(value, "runtime/default" | "docker/default") || value.starts_with("localhost/")
    };
    let bad = keys.filter_map(|key| {
        let value = pod.annotations[&key].as_str().filter(|value| !allowed(value))?;
        Some(format!("{key}={value:?}"))
    });
    let bad: BTreeSet<String> = bad.collect();
    if bad.is_empty() {
        return None;
    }
    let words = plural(bad.len(), "annotation", "annotations");
    violation(
        "seccompProfile",
        format!("forbidden {words} {}", bad.into_iter().collect::<Vec<_>>().join(", ")),
    )
}

/// The kernel parameters that a pod may set, with the version from which on.
const SYSCTLS: [(&str, u32); 12] = [
    ("kernel.shm_rmid_forced", 0),
    ("net.ipv4.ip_local_port_range", 0),
    ("net.ipv4.tcp_syncookies", 0),
    ("net.ipv4.ping_group_range", 0),
    ("net.ipv4.ip_unprivileged_port_start", 0),
    ("net.ipv4.ip_local_reserved_ports", 27),
    ("net.ipv4.tcp_keepalive_time", 29),
    ("net.ipv4.tcp_fin_timeout", 29),
    ("net.ipv4.tcp_keepalive_intvl", 29),
    ("net.ipv4.tcp_keepalive_probes", 29),
    ("net.ipv4.tcp_rmem", 32),
    ("net.ipv4.tcp_wmem", 32),
];

fn sysctls(pod: &Pod<'_>) -> Option<Violation> {
    let allowed = |name: &str| SYSCTLS.iter().any(|(known, since)| *known == name && pod.version >= *since);
    let names = list(&pod.spec["securityContext"], "sysctls").iter().map(|one| text(one, "name"));
    let bad: Vec<&str> = names.filter(|name| !allowed(name)).collect();
    if bad.is_empty() { None } else { violation("forbidden sysctls", bad.join(", ")) }
}

fn host_process(pod: &Pod<'_>) -> Option<Violation> {
    let is_bad = |context: &Value| context["windowsOptions"]["hostProcess"] == true;
    let names = pod.bad(|container| is_bad(context(container)));
    let who = setters(is_bad(context(pod.spec)), &names)?;
    violation("hostProcess", format!("{who} must not set securityContext.windowsOptions.hostProcess=true"))
}
