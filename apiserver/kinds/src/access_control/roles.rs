//! RBAC roles and bindings.

use machinery::field::FieldError;
use machinery::names;
use serde_json::{Map, Value};

use crate::fields::{invalid, required, text};
use crate::strategy::Strategy;

const GROUP: &str = "rbac.authorization.k8s.io";

/// The strategy of `Role` and `ClusterRole`.
pub(crate) struct Roles {
    pub(crate) cluster: bool,
}

/// The strategy of `RoleBinding` and `ClusterRoleBinding`.
pub(crate) struct Bindings {
    pub(crate) cluster: bool,
}

fn filled(value: &Value) -> bool {
    value.as_array().is_some_and(|list| !list.is_empty())
}

/// Replaces an empty `rules` list by null. The field manager that wrote the list still owns the field.
fn no_rules(object: &mut Value) {
    if object["rules"].as_array().is_some_and(Vec::is_empty) {
        object["rules"] = Value::Null;
    }
}

impl Strategy for Roles {
    fn metadata_repeats(&self) -> (usize, usize) {
        (2, 2)
    }

    fn prepare_create(&self, object: &mut Value) {
        no_rules(object);
    }

    fn prepare_update(&self, object: &mut Value, _old: &Value) {
        no_rules(object);
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        for (index, rule) in object["rules"].as_array().into_iter().flatten().enumerate() {
            check_rule(rule, &format!("rules[{index}]"), self.cluster, &mut errors);
        }
        if self.cluster {
            check_aggregation(&object["aggregationRule"], &mut errors);
        }
        errors
    }

    fn check_name(&self, name: &str, prefix: bool) -> Vec<String> {
        if prefix { names::path_segment_prefix(name) } else { names::path_segment(name) }
    }

    fn create_on_update(&self) -> bool {
        true
    }
}

fn check_aggregation(aggregation: &Value, errors: &mut Vec<FieldError>) {
    const PATH: &str = "aggregationRule.clusterRoleSelectors";
    if aggregation.is_null() {
        return;
    }
    if !filled(&aggregation["clusterRoleSelectors"]) {
        let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        errors.push(required(PATH, why));
    }
    for (index, selector) in aggregation["clusterRoleSelectors"].as_array().into_iter().flatten().enumerate()
    {
        let path = format!("{PATH}[{index}]");
        let before = errors.len();
        crate::types::selector(selector, &path, errors);
        if errors.len() > before {
            errors.push(invalid(path, Value::Null, "invalid label selector."));
        }
    }
}

fn check_rule(rule: &Value, path: &str, cluster: bool, errors: &mut Vec<FieldError>) {
    if !filled(&rule["verbs"]) {
        errors.push(required(format!("{path}.verbs"), "verbs must contain at least one value"));
    }
    if filled(&rule["nonResourceURLs"]) {
        let field = format!("{path}.nonResourceURLs");
        let urls = rule["nonResourceURLs"].clone();
        if !cluster {
            let why = "namespaced rules cannot apply to non-resource URLs";
            errors.push(invalid(field.clone(), urls.clone(), why));
        }
        if ["apiGroups", "resources", "resourceNames"].iter().any(|list| filled(&rule[*list])) {
            let why = "rules cannot apply to both regular resources and non-resource URLs";
            errors.push(invalid(field, urls, why));
        }
        return;
    }
    if !filled(&rule["apiGroups"]) {
        errors
            .push(required(format!("{path}.apiGroups"), "resource rules must supply at least one api group"));
    }
    if !filled(&rule["resources"]) {
        errors
            .push(required(format!("{path}.resources"), "resource rules must supply at least one resource"));
    }
}

impl Strategy for Bindings {
    fn metadata_repeats(&self) -> (usize, usize) {
        (2, 2)
    }

    fn normalize(&self, object: &mut Value) {
        let Some(map) = object.as_object_mut() else { return };
        let reference = map.entry("roleRef").or_insert_with(|| Value::Object(Map::new()));
        if let Some(reference) = reference.as_object_mut() {
            reference.entry("apiGroup").or_insert(GROUP.into());
            reference.entry("kind").or_insert("".into());
            reference.entry("name").or_insert("".into());
        }
        for subject in map.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten() {
            let kind = text(subject, "kind").to_owned();
            let Some(subject) = subject.as_object_mut() else { continue };
            if matches!(kind.as_str(), "User" | "Group") {
                subject.entry("apiGroup").or_insert(GROUP.into());
            }
            subject.entry("kind").or_insert("".into());
            subject.entry("name").or_insert("".into());
        }
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let reference = &object["roleRef"];
        let unsupported = |field: &str, value: &str, allowed: &[&str]| {
            let allowed: Vec<Value> = allowed.iter().map(|text| (*text).into()).collect();
            FieldError::not_supported(field, &value.into(), &allowed)
        };
        if text(reference, "apiGroup") != GROUP {
            errors.push(unsupported("roleRef.apiGroup", text(reference, "apiGroup"), &[GROUP]));
        }
        let kinds: &[&str] = if self.cluster { &["ClusterRole"] } else { &["Role", "ClusterRole"] };
        if !kinds.contains(&text(reference, "kind")) {
            errors.push(unsupported("roleRef.kind", text(reference, "kind"), kinds));
        }
        let name = text(reference, "name");
        if name.is_empty() {
            errors.push(required("roleRef.name", ""));
        } else {
            let problems = names::path_segment(name);
            errors.extend(problems.into_iter().map(|why| invalid("roleRef.name", name, why)));
        }
        for (index, subject) in object["subjects"].as_array().into_iter().flatten().enumerate() {
            self.check_subject(subject, &format!("subjects[{index}]"), &mut errors);
        }
        errors
    }

    fn validate_update(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate(object);
        if object["roleRef"] != old["roleRef"] {
            let reference = &object["roleRef"];
            // The error contains the value in the form of the internal Go type.
            let shown = format!(
                "{{\"APIGroup\":{},\"Kind\":{},\"Name\":{}}}",
                reference["apiGroup"], reference["kind"], reference["name"]
            );
            let mut error = invalid("roleRef", Value::Null, "cannot change roleRef");
            error.value = Some(shown);
            errors.push(error);
        }
        errors
    }

    fn check_name(&self, name: &str, prefix: bool) -> Vec<String> {
        if prefix { names::path_segment_prefix(name) } else { names::path_segment(name) }
    }

    fn create_on_update(&self) -> bool {
        true
    }
}

impl Bindings {
    fn check_subject(&self, subject: &Value, path: &str, errors: &mut Vec<FieldError>) {
        let name = text(subject, "name");
        if name.is_empty() {
            errors.push(required(format!("{path}.name"), ""));
        }
        let group = text(subject, "apiGroup");
        let allowed = match text(subject, "kind") {
            "ServiceAccount" => {
                if !name.is_empty() {
                    let problems = names::dns1123_subdomain(name);
                    errors.extend(problems.into_iter().map(|why| invalid(format!("{path}.name"), name, why)));
                }
                ""
            }
            "User" | "Group" => GROUP,
            other => {
                let kinds = ["ServiceAccount", "User", "Group"].map(Into::into);
                errors.push(FieldError::not_supported(format!("{path}.kind"), &other.into(), &kinds));
                return;
            }
        };
        if group != allowed {
            let field = format!("{path}.apiGroup");
            errors.push(FieldError::not_supported(field, &group.into(), &[allowed.into()]));
        }
        if self.cluster && allowed.is_empty() && text(subject, "namespace").is_empty() {
            errors.push(required(format!("{path}.namespace"), ""));
        }
    }
}
