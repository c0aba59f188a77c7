//! Matching of requests with the rules, selectors and conditions of webhooks and policies.

use std::sync::Arc;

use kinds::definition::Version;
use machinery::meta;
use machinery::selector::LabelSelector;
use serde_json::Value;

use super::attributes::Attributes;

/// One rule: a combination of operations, resources, names and scope.
struct Rule {
    operations: Vec<String>,
    groups: Vec<String>,
    versions: Vec<String>,
    resources: Vec<String>,
    names: Vec<String>,
    scope: String,
}

/// The rules and selectors of a webhook, a policy or a binding.
pub(crate) struct Matcher {
    rules: Vec<Rule>,
    excluded: Vec<Rule>,
    pub(crate) namespaces: LabelSelector,
    objects: LabelSelector,
    /// Whether a rule that names another version of the resource matches, too (`matchPolicy: Equivalent`).
    equivalent: bool,
    /// Whether every request matches if there are no rules.
    any: bool,
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn rules(value: &Value) -> Vec<Rule> {
    let rule = |rule: &Value| Rule {
        operations: texts(&rule["operations"]),
        groups: texts(&rule["apiGroups"]),
        versions: texts(&rule["apiVersions"]),
        resources: texts(&rule["resources"]),
        names: texts(&rule["resourceNames"]),
        scope: rule["scope"].as_str().unwrap_or_default().to_owned(),
    };
    value.as_array().into_iter().flatten().map(rule).collect()
}

fn selector(value: &Value) -> LabelSelector {
    LabelSelector::from_object(value).unwrap_or_default()
}

impl Matcher {
    /// Compiles the rules and selectors of a webhook.
    pub(crate) fn of_webhook(webhook: &Value) -> Self {
        Self { rules: rules(&webhook["rules"]), ..Self::selecting(webhook) }
    }

    /// Compiles `matchConstraints` or `matchResources`. With `any`, every request matches if there are no rules.
    pub(crate) fn of_resources(resources: &Value, any: bool) -> Self {
        Self {
            rules: rules(&resources["resourceRules"]),
            excluded: rules(&resources["excludeResourceRules"]),
            any,
            ..Self::selecting(resources)
        }
    }

    fn selecting(holder: &Value) -> Self {
        Self {
            rules: Vec::new(),
            excluded: Vec::new(),
            namespaces: selector(&holder["namespaceSelector"]),
            objects: selector(&holder["objectSelector"]),
            equivalent: holder["matchPolicy"] != "Exact",
            any: false,
        }
    }

    pub(crate) fn version(&self, attributes: &Attributes<'_>, object: &Value) -> Option<Arc<Version>> {
        let served = attributes.target.served;
        let fits =
            |list: &[Rule], version: &str| list.iter().any(|rule| rule.matches(attributes, version, object));
        let own = &served.version;
        let mut others = served.definition.versions.iter().filter(|version| version.served);
        if fits(&self.excluded, &own.name)
            || self.equivalent && others.clone().any(|version| fits(&self.excluded, &version.name))
        {
            return None;
        }
        if self.any && self.rules.is_empty() || fits(&self.rules, &own.name) {
            return Some(own.clone());
        }
        others.find(|version| self.equivalent && fits(&self.rules, &version.name)).cloned()
    }

    pub(crate) fn selects_object(&self, attributes: &Attributes<'_>, object: &Value) -> bool {
        if self.objects.is_empty() {
            return true;
        }
        let new = attributes.new_object(object);
        let mut candidates = Some(new).into_iter().chain(attributes.old).filter(|one| !one.is_null());
        candidates.any(|one| self.objects.matches(meta::labels(one)))
    }
}

impl Rule {
    fn matches(&self, attributes: &Attributes<'_>, version: &str, object: &Value) -> bool {
        let target = &attributes.target;
        let definition = &target.served.definition;
        let has = |list: &[String], wanted: &str| list.iter().any(|one| one == "*" || one == wanted);
        let scope = match self.scope.as_str() {
            // Namespaces are cluster-scoped objects.
            "Namespaced" => definition.namespaced,
            "Cluster" => !definition.namespaced,
            _ => true,
        };
        let name = if target.name.is_empty() { meta::name(object) } else { target.name };
        scope
            && has(&self.operations, attributes.operation_name())
            && has(&self.groups, &definition.group)
            && has(&self.versions, version)
            && self.resources.iter().any(|one| resource(one, &definition.plural, target.subresource.name()))
            && (self.names.is_empty() || self.names.iter().any(|one| one == name))
    }
}

/// Compares a resource of a rule with the request: `pods`, `pods/status`, `pods/*`, `*`, `*/*`, `*/status`.
fn resource(rule: &str, plural: &str, part: &str) -> bool {
    let (resource, wanted) = rule.split_once('/').unwrap_or((rule, ""));
    (resource == "*" || resource == plural) && (wanted == "*" || wanted == part)
}
