//! Validation of the security contexts of pods and containers, as kube-apiserver does it.

use std::collections::BTreeSet;

use machinery::field::{FieldError, FieldErrorKind};
use serde_json::Value;

use super::volumes::paths;
use crate::fields::{forbidden, internal, invalid, list, required};

/// Validates the security context of the container at `path`.
pub(crate) fn of_container(container: &Value, path: &str, host_users: bool, errors: &mut Vec<FieldError>) {
    let context = &container["securityContext"];
    if !context.is_object() {
        return;
    }
    let path = format!("{path}.securityContext");
    if host_users && context["procMount"] == "Unmasked" {
        let why = "`hostUsers` must be false to use `Unmasked`";
        errors.push(invalid(format!("{path}.procMount"), "Unmasked", why));
    }
    seccomp(&context["seccompProfile"], &format!("{path}.seccompProfile"), errors);
    if context["allowPrivilegeEscalation"] == false {
        let mut refuse = |what: &str| {
            let why = format!("cannot set `allowPrivilegeEscalation` to false and {what}");
            errors.push(internal(path.clone(), "core.SecurityContext", context, &why));
        };
        if context["privileged"] == true {
            refuse("`privileged` to true");
        }
        if list(&context["capabilities"], "add").iter().any(|capability| capability == "CAP_SYS_ADMIN") {
            refuse("`capabilities.Add` CAP_SYS_ADMIN");
        }
    }
    windows(&context["windowsOptions"], &format!("{path}.windowsOptions"), errors);
    app_armor(&context["appArmorProfile"], &format!("{path}.appArmorProfile"), errors);
}

/// Validates the security context of a pod, whose spec is at `path`.
pub(crate) fn of_pod(spec: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let context = &spec["securityContext"];
    let at = format!("{path}.securityContext");
    if let Some(policy) = context["seLinuxChangePolicy"].as_str().filter(|policy| *policy != "Recursive") {
        let field = format!("{at}.seLinuxChangePolicy");
        errors.push(FieldError::not_supported(field, &policy.into(), &["Recursive".into()]));
    }
    of_host(spec, path, errors);
    for (index, group) in list(context, "supplementalGroups").iter().enumerate() {
        if let Some(group) = group.as_i64().filter(|group| !(0..=i64::from(i32::MAX)).contains(group)) {
            let why = "must be between 0 and 2147483647, inclusive";
            errors.push(invalid(format!("{at}.supplementalGroups[{index}]"), group, why));
        }
    }
    if spec["shareProcessNamespace"] == true && spec["hostPID"] == true {
        let why = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.push(invalid(format!("{at}.shareProcessNamespace"), true, why));
    }
    sysctls(context, spec, &format!("{at}.sysctls"), errors);
    seccomp(&context["seccompProfile"], &format!("{at}.seccompProfile"), errors);
    windows(&context["windowsOptions"], &format!("{at}.windowsOptions"), errors);
    app_armor(&context["appArmorProfile"], &format!("{at}.appArmorProfile"), errors);
    if spec["hostUsers"] == false {
        for (field, shown) in [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")]
        {
            if spec[field] == true {
                errors.push(forbidden(format!("{path}.{shown}"), "when `hostUsers` is false"));
            }
        }
    }
}

/// Requires the host network for Windows host process containers.
fn of_host(spec: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let asks = |holder: &Value| holder["securityContext"]["windowsOptions"]["hostProcess"] == true;
    let inside = ["initContainers", "containers"].iter().flat_map(|field| list(spec, field)).any(asks);
    if (asks(spec) || inside) && spec["hostNetwork"] != true {
        let why = "hostNetwork must be true if pod contains any hostProcess containers";
        errors.push(invalid(format!("{path}.hostNetwork"), false, why));
    }
}

fn seccomp(profile: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if !profile.is_object() {
        return;
    }
    let kinds = ["Localhost", "RuntimeDefault", "Unconfined"];
    let (kind, local) = (profile["type"].as_str().unwrap_or_default(), &profile["localhostProfile"]);
    let at = format!("{path}.localhostProfile");
    if kind.is_empty() {
        errors.push(required(format!("{path}.type"), "type is required when seccompProfile is set"));
    } else if !kinds.contains(&kind) {
        let allowed = kinds.map(Value::from);
        errors.push(FieldError::not_supported(format!("{path}.type"), &kind.into(), &allowed));
    }
    match local.as_str() {
        None if kind == "Localhost" => {
            errors.push(required(at, "must be set when seccomp type is Localhost"));
        }
        Some(local) if kind == "Localhost" => paths::relative(local, &at, errors),
        Some(_) => {
            let why = "can only be set when seccomp type is Localhost";
            errors.push(internal(at, "core.SeccompProfile", profile, why));
        }
        None => {}
    }
}

fn app_armor(profile: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if !profile.is_object() {
        return;
    }
    let kinds = ["Localhost", "RuntimeDefault", "Unconfined"];
    let at = format!("{path}.localhostProfile");
    let local = profile["localhostProfile"].as_str();
    match profile["type"].as_str().unwrap_or_default() {
        "Localhost" => match local {
            None | Some("") => errors.push(required(at, "must be set when AppArmor type is Localhost")),
            Some(local) if local.trim() != local => {
                errors.push(invalid(at, local, "must not be padded with whitespace"));
            }
            Some(_) => {}
        },
        "RuntimeDefault" | "Unconfined" => errors
            .extend(local.map(|local| invalid(at, local, "can only be set when AppArmor type is Localhost"))),
        "" => errors.push(required(format!("{path}.type"), "type is required when appArmorProfile is set")),
        other => {
            let allowed = kinds.map(Value::from);
            errors.push(FieldError::not_supported(format!("{path}.type"), &other.into(), &allowed));
        }
    }
}

/// Validates sysctls: their names, and that a pod that shares a host namespace does not set its parameters.
fn sysctls(context: &Value, spec: &Value, path: &str, errors: &mut Vec<FieldError>) {
    const SHAPE: &str = "must have at most 253 characters and match regex \
                         ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
    let mut names = BTreeSet::new();
    for (index, one) in list(context, "sysctls").iter().enumerate() {
        let (name, at) = (one["name"].as_str().unwrap_or_default(), format!("{path}[{index}].name"));
        let good = |part: &str| {
            let end = |byte: Option<u8>| {
                byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            };
            let inner = |byte: u8| byte == b'-' || byte == b'_' || end(Some(byte));
            end(part.bytes().next()) && end(part.bytes().last()) && part.bytes().all(inner)
        };
        if name.is_empty() {
            errors.push(required(at, ""));
            continue;
        }
        if name.len() > 253 || !name.split(['.', '/']).all(good) {
            errors.push(invalid(at.clone(), name, SHAPE));
        } else if !names.insert(name) {
            errors.push(FieldError::new(FieldErrorKind::Duplicate, at.clone(), &name.into(), ""));
        }
        let dotted = name.replace('/', ".");
        let of_ipc = ["kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue."];
        if spec["hostNetwork"] == true && dotted.starts_with("net.") {
            errors.push(invalid(at, name, "may not be specified when 'hostNetwork' is true"));
        } else if spec["hostIPC"] == true && of_ipc.iter().any(|start| dotted.starts_with(start)) {
            errors.push(invalid(at, name, "may not be specified when 'hostIPC' is true"));
        }
    }
}

fn windows(options: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if let Some(user) = options["runAsUserName"].as_str() {
        let field = format!("{path}.runAsUserName");
        if user.is_empty() {
            errors.push(invalid(field, user, "runAsUserName cannot be an empty string"));
        } else if user.matches('\\').count() > 1 {
            errors.push(invalid(field, user, "runAsUserName cannot contain more than one backslash"));
        }
    }
    let Some(name) = options["gmsaCredentialSpecName"].as_str() else { return };
    let problems = machinery::names::dns1123_subdomain(name);
    let at = format!("{path}.gmsaCredentialSpecName");
    errors.extend(problems.into_iter().map(|why| invalid(at.clone(), name, why)));
}
