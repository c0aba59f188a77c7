//! Validation of pod volumes: each has exactly one source, and each source has its rules.

use std::collections::HashSet;

use machinery::field::FieldError;
use machinery::names;
use serde_json::Value;

use super::default::{forbidden, invalid, required};

/// The sources in the order in which kube-apiserver checks them; it accepts the first one and refuses the others.
const SOURCES: [&str; 30] = [
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
];

/// Returns the name of a source in kube-apiserver's error about several sources, including its spelling mistake.
fn shown(source: &str) -> &str {
    match source {
        "cephfs" => "cephFS",
        "downwardAPI" => "downwarAPI",
        source => source,
    }
}

/// Validates the volume at `path`.
pub(super) fn check(volume: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let mut found = SOURCES.iter().filter(|source| !volume[**source].is_null());
    match found.next() {
        Some(source) => check_source(source, &volume[*source], &format!("{path}.{source}"), errors),
        None => errors.push(required(path, "must specify a volume type")),
    }
    for source in found {
        errors
            .push(forbidden(format!("{path}.{}", shown(source)), "may not specify more than 1 volume type"));
    }
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}

/// Requires a text that the structural validation does not require.
fn needs(source: &Value, field: &str, path: &str, errors: &mut Vec<FieldError>) {
    if text(source, field).is_empty() {
        errors.push(required(format!("{path}.{field}"), ""));
    }
}

fn check_source(name: &str, source: &Value, path: &str, errors: &mut Vec<FieldError>) {
    match name {
        "emptyDir" => empty_dir(source, path, errors),
        "hostPath" => {
            errors.extend(no_back_steps(text(source, "path"), &format!("{path}.path")));
        }
        "gitRepo" => {
            relative(text(source, "directory"), &format!("{path}.directory"), errors);
        }
        "secret" => {
            needs(source, "secretName", path, errors);
            keys(source, path, errors);
        }
        "configMap" => {
            needs(source, "name", path, errors);
            keys(source, path, errors);
        }
        "nfs" if !text(source, "path").starts_with('/') => {
            let field = format!("{path}.path");
            errors.push(invalid(field, text(source, "path"), "must be an absolute path"));
        }
        "downwardAPI" => {
            mode(source, "defaultMode", path, errors);
            for item in source["items"].as_array().into_iter().flatten() {
                downward(item, path, errors);
            }
        }
        "projected" => projected(source, path, errors),
        "csi" => {
            let driver = text(source, "driver");
            let lower = driver.to_lowercase();
            let problems = if driver.is_empty() { Vec::new() } else { names::dns1123_subdomain(&lower) };
            let field = format!("{path}.driver");
            errors.extend(problems.into_iter().map(|why| invalid(field.clone(), driver, why)));
            let secret = &source["nodePublishSecretRef"];
            if secret.is_object() {
                needs(secret, "name", &format!("{path}.nodePublishSecretRef"), errors);
            }
        }
        "image" => needs(source, "reference", path, errors),
        "ephemeral" if source["volumeClaimTemplate"].is_null() => {
            errors.push(required(format!("{path}.volumeClaimTemplate"), ""));
        }
        "gcePersistentDisk" | "awsElasticBlockStore" => {
            let shown = path.replace("gcePersistentDisk", "persistentDisk");
            if name == "gcePersistentDisk" {
                needs(source, "pdName", &shown, errors);
            }
            let partition = source["partition"].as_i64().unwrap_or(0);
            if partition != 0 && !(1..=255).contains(&partition) {
                let why = "must be between 1 and 255, inclusive";
                errors.push(invalid(format!("{shown}.partition"), partition, why));
            }
        }
        "iscsi" => iscsi(source, path, errors),
        "flocker" => flocker(source, path, errors),
        "rbd" | "cephfs" if source["monitors"].as_array().is_none_or(Vec::is_empty) => {
            errors.push(required(format!("{path}.monitors"), ""));
        }
        "fc" => fibre(source, path, errors),
        "quobyte" if !text(source, "registry").is_empty() => {
            let registry = text(source, "registry");
            if !registry.split(',').all(|one| {
                one.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && !port.is_empty())
            }) {
                let why = "must be a host:port pair or multiple pairs separated by commas";
                errors.push(invalid(format!("{path}.registry"), registry, why));
            }
        }
        "flexVolume" => flex(source, path, errors),
        "azureDisk" => azure_disk(source, path, errors),
        "storageos" if text(source, "volumeName").is_empty() => needs(source, "volumeName", path, errors),
        "glusterfs" => {}
        "ephemeral" => claim(&source["volumeClaimTemplate"], path, errors),
        _ => {}
    }
}

fn flocker(source: &Value, path: &str, errors: &mut Vec<FieldError>) {
    match (text(source, "datasetName"), text(source, "datasetUUID")) {
        ("", "") => errors.push(required(path, "one of datasetName and datasetUUID is required")),
        ("", _) => {}
        (name, "") if name.contains('/') => {
            errors.push(invalid(format!("{path}.datasetName"), name, "must not contain '/'"));
        }
        (_, "") => {}
        _ => {
            let why = "datasetName and datasetUUID can not be specified simultaneously";
            errors.push(invalid(path, "resource", why));
        }
    }
}

fn flex(source: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let reserved = |key: &str| {
        let domain = key.split('/').next().unwrap_or_default();
        ["kubernetes.io", "k8s.io"]
            .iter()
            .any(|name| domain == *name || domain.ends_with(&format!(".{name}")))
    };
    let options = source["options"].as_object().into_iter().flatten();
    for (key, _) in options.filter(|(key, _)| reserved(key)) {
        let why = "kubernetes.io and k8s.io namespaces are reserved";
        errors.push(invalid(format!("{path}.options[{key}]"), key.as_str(), why));
    }
}

fn iscsi(source: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let (name, field) = (text(source, "iqn"), format!("{path}.iqn"));
    if !name.is_empty() && !["iqn", "eui", "naa"].iter().any(|start| name.starts_with(start)) {
        errors.push(invalid(field, name, "must be valid format starting with iqn, eui, or naa"));
    }
    let number = source["lun"].as_i64().unwrap_or(0);
    if !(0..=255).contains(&number) {
        errors.push(invalid(format!("{path}.lun"), number, "must be between 0 and 255, inclusive"));
    }
    let signs_in = ["chapAuthDiscovery", "chapAuthSession"].iter().any(|field| source[*field] == true);
    if signs_in && source["secretRef"].is_null() {
        errors.push(required(format!("{path}.secretRef"), ""));
    }
}

fn fibre(source: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let any = |field: &str| source[field].as_array().is_some_and(|list| !list.is_empty());
    let field = format!("{path}.targetWWNs");
    match (any("targetWWNs"), any("wwids")) {
        (false, false) => {
            errors.push(required(field, "must specify either targetWWNs or wwids, but not both"));
        }
        (true, true) => {
            let why = "targetWWNs and wwids can not be specified simultaneously";
            errors.push(invalid(field, source["targetWWNs"].clone(), why));
        }
        _ => {}
    }
    if !any("targetWWNs") {
        return;
    }
    match source["lun"].as_i64() {
        None => errors.push(required(format!("{path}.lun"), "lun is required if targetWWNs is specified")),
        Some(number) if !(0..=255).contains(&number) => {
            errors.push(invalid(format!("{path}.lun"), number, "must be between 0 and 255, inclusive"));
        }
        Some(_) => {}
    }
}

fn azure_disk(source: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for (field, allowed) in
        [("cachingMode", ["None", "ReadOnly", "ReadWrite"]), ("kind", ["Dedicated", "Managed", "Shared"])]
    {
        if let Some(found) = source[field].as_str().filter(|found| !allowed.contains(found)) {
            let field = format!("{path}.{field}");
            errors.push(FieldError::not_supported(field, &found.into(), &allowed.map(Value::from)));
        }
    }
    let disk = text(source, "diskURI");
    let prefixes = ["https://", "http://"];
    let managed = source["kind"] == "Managed";
    if managed && !disk.starts_with("/subscriptions/") {
        let allowed = [
            "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
        ];
        errors.push(FieldError::not_supported(
            format!("{path}.diskURI"),
            &disk.into(),
            &allowed.map(Value::from),
        ));
    } else if !managed && !disk.is_empty() && !prefixes.iter().any(|start| disk.starts_with(start)) {
        let allowed = ["https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"];
        errors.push(FieldError::not_supported(
            format!("{path}.diskURI"),
            &disk.into(),
            &allowed.map(Value::from),
        ));
    }
}

fn empty_dir(source: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if text(source, "sizeLimit").starts_with('-') {
        let why = "SizeLimit field must be a valid resource quantity";
        errors.push(forbidden(format!("{path}.sizeLimit"), why));
    }
}

/// Validates the claim template of an ephemeral volume, whose claim gets a generated name.
fn claim(template: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let path = format!("{path}.volumeClaimTemplate");
    for field in ["name", "generateName", "namespace"] {
        if !text(&template["metadata"], field).is_empty() {
            errors.push(forbidden(format!("{path}.metadata.{field}"), "cannot be set"));
        }
    }
    super::storage::claim(&template["spec"], &format!("{path}.spec"), errors);
}

fn no_back_steps(value: &str, path: &str) -> Option<FieldError> {
    value.split('/').any(|step| step == "..").then(|| invalid(path, value, "must not contain '..'"))
}

/// Requires a relative path without `..`.
pub(super) fn relative(value: &str, path: &str, errors: &mut Vec<FieldError>) {
    if value.starts_with('/') {
        errors.push(invalid(path, value, "must be a relative path"));
    }
    errors.extend(no_back_steps(value, path));
}

fn inside(value: &str, path: &str, errors: &mut Vec<FieldError>) {
    relative(value, path, errors);
    if value.starts_with("..") && value.split('/').next() != Some("..") {
        errors.push(invalid(path, value, "must not start with '..'"));
    }
}

fn mode(source: &Value, field: &str, path: &str, errors: &mut Vec<FieldError>) {
    if let Some(bits) = source[field].as_i64().filter(|bits| !(0..=0o777).contains(bits)) {
        let why = "must be a number between 0 and 0777 (octal), both inclusive";
        errors.push(invalid(format!("{path}.{field}"), bits, why));
    }
}

/// Validates the items that map keys of a Secret or ConfigMap to files.
fn keys(source: &Value, path: &str, errors: &mut Vec<FieldError>) {
    mode(source, "defaultMode", path, errors);
    for (index, item) in source["items"].as_array().into_iter().flatten().enumerate() {
        let path = format!("{path}.items[{index}]");
        inside(text(item, "path"), &format!("{path}.path"), errors);
        mode(item, "mode", &path, errors);
    }
}

/// Validates a downward API file. The errors of kube-apiserver do not contain the index of the item.
fn downward(item: &Value, path: &str, errors: &mut Vec<FieldError>) {
    const FIELDS: [&str; 5] =
        ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];
    needs(item, "path", path, errors);
    inside(text(item, "path"), &format!("{path}.path"), errors);
    let resource = &item["resourceFieldRef"];
    if resource.is_object() {
        needs(resource, "containerName", &format!("{path}.resourceFieldRef"), errors);
        super::container::resource_ref(resource, path, errors);
    }
    let version = text(&item["fieldRef"], "apiVersion");
    let field = text(&item["fieldRef"], "fieldPath");
    let key = field.strip_suffix("']").and_then(|field| field.split_once("['"));
    if let Some((_, key)) = key.filter(|(map, _)| *map == "metadata.labels") {
        let problems = names::qualified_name(key);
        let at = format!("{path}.fieldRef");
        errors.extend(problems.into_iter().map(|why| invalid(at.clone(), key, why)));
    }
    if !matches!(version, "" | "v1") {
        let why = format!("error converting fieldPath: unsupported pod version: {version}");
        errors.push(invalid(format!("{path}.fieldRef.fieldPath"), field, why));
        return;
    }
    match (item["fieldRef"].is_null(), item["resourceFieldRef"].is_null()) {
        (true, true) => {
            errors.push(required(path, "one of fieldRef and resourceFieldRef is required"));
        }
        (false, other) => {
            let key = |name: &str| field.strip_prefix(name).is_some_and(|rest| rest.starts_with("['"));
            let keyed = key("metadata.labels") || key("metadata.annotations");
            if !field.is_empty() && !FIELDS.contains(&field) && !keyed {
                let allowed = FIELDS.map(Value::from);
                let at = format!("{path}.fieldRef.fieldPath");
                errors.push(FieldError::not_supported(at, &field.into(), &allowed));
            }
            if !other {
                let why = "fieldRef and resourceFieldRef can not be specified simultaneously";
                errors.push(invalid(path, "resource", why));
            }
        }
        _ => {}
    }
    mode(item, "mode", path, errors);
}

const PROJECTED: [&str; 6] =
    ["secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate"];

/// Minimum lifetime of a projected token, in seconds.
const TOKEN_SECONDS_MIN: i64 = 600;

fn projected(source: &Value, path: &str, errors: &mut Vec<FieldError>) {
    mode(source, "defaultMode", path, errors);
    let mut paths = HashSet::new();
    for (index, one) in source["sources"].as_array().into_iter().flatten().enumerate() {
        let at = format!("{path}.sources[{index}]");
        let mut found = PROJECTED.iter().filter(|kind| !one[**kind].is_null());
        let Some(kind) = found.next() else { continue };
        if found.next().is_some() {
            errors.push(forbidden(at, "may not specify more than 1 volume type per source"));
            continue;
        }
        let inner = &one[*kind];
        let at = format!("{at}.{kind}");
        match *kind {
            "secret" | "configMap" => {
                needs(inner, "name", &at, errors);
                keys(inner, &at, errors);
                for item in inner["items"].as_array().into_iter().flatten() {
                    let file = text(item, "path");
                    if !paths.insert(file) && !file.is_empty() {
                        errors.push(invalid(path, text(inner, "name"), "conflicting duplicate paths"));
                    }
                }
            }
            "serviceAccountToken" => token(inner, path, &at, errors),
            _ => {}
        }
    }
}

fn token(source: &Value, path: &str, at: &str, errors: &mut Vec<FieldError>) {
    needs(source, "path", path, errors);
    let seconds = source["expirationSeconds"].as_i64().unwrap_or(TOKEN_SECONDS_MIN);
    if seconds < TOKEN_SECONDS_MIN {
        let why = "may not specify a duration less than 10 minutes";
        errors.push(invalid(format!("{at}.expirationSeconds"), seconds, why));
    }
    if seconds > 1 << 32 {
        let why = "may not specify a duration larger than 2^32 seconds";
        errors.push(invalid(format!("{at}.expirationSeconds"), seconds, why));
    }
}
