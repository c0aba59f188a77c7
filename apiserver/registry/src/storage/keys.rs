//! The keys of objects in the store: `/registry/<group>/<resource>/<namespace>/<name>`.

use kinds::definition::Definition;

/// The group whose objects configure admission. Writes to it are exempt: otherwise a broken configuration could not be
/// repaired.
pub(crate) const ADMISSION_GROUP: &str = "admissionregistration.k8s.io";

/// Returns the group and plural under which a resource is stored: its own, except that both groups with Events share
/// one location.
pub(crate) fn home(definition: &Definition) -> (&str, &str) {
    match (definition.group.as_str(), definition.plural.as_str()) {
        ("events.k8s.io", "events") if definition.built_in => ("", "events"),
        own => own,
    }
}

/// Returns the prefix of the objects in one namespace, or of all objects if `namespace` is empty.
pub(crate) fn namespace(definition: &Definition, namespace: &str) -> String {
    let (group, plural) = home(definition);
    let group = if group.is_empty() { "core" } else { group };
    if namespace.is_empty() || !definition.namespaced {
        format!("/registry/{group}/{plural}/")
    } else {
        format!("/registry/{group}/{plural}/{namespace}/")
    }
}

/// Returns the key of one object.
pub(crate) fn object(definition: &Definition, namespace: &str, name: &str) -> String {
    let mut key = self::namespace(definition, namespace);
    key.push_str(name);
    key
}

/// Returns the key as it appears in error messages of a real API server.
pub(crate) fn shown(definition: &Definition, namespace: &str, name: &str) -> String {
    let group = match (definition.built_in, definition.group.as_str()) {
        (true, "apiextensions.k8s.io" | "apiregistration.k8s.io") | (false, _) => {
            format!("{}/", definition.group)
        }
        (true, _) => String::new(),
    };
    let namespace = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
    format!("/registry/{group}{}/{namespace}{name}", definition.plural)
}

/// Splits a key into group, resource, namespace and name.
pub(crate) fn split(key: &str) -> (&str, &str, &str, &str) {
    let mut parts = key.strip_prefix("/registry/").unwrap_or(key).split('/');
    let group = match parts.next().unwrap_or_default() {
        "core" => "",
        group => group,
    };
    let resource = parts.next().unwrap_or_default();
    let third = parts.next().unwrap_or_default();
    match parts.next() {
        Some(name) => (group, resource, third, name),
        None => (group, resource, "", third),
    }
}
