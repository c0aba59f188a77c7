//! Matching of requests with the rules, selectors and conditions of webhooks and policies.

use std::sync::Arc;

use cel::program::{Answer, Expected, Input, Program};
use machinery::meta;
use machinery::selector::LabelSelector;
use machinery::status::Status;
use serde_json::Value;

use super::Attributes;
use crate::definition::Version;
use crate::registry::Registry;

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
pub(super) struct Matcher {
    rules: Vec<Rule>,
    excluded: Vec<Rule>,
    namespaces: LabelSelector,
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
    pub(super) fn of_webhook(webhook: &Value) -> Self {
        Self { rules: rules(&webhook["rules"]), ..Self::selecting(webhook) }
    }

    /// Compiles `matchConstraints` or `matchResources`. With `any`, every request matches if there are no rules.
    pub(super) fn of_resources(resources: &Value, any: bool) -> Self {
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

    /// Returns the version in which the request matches, or `None` if it does not match.
    ///
    /// # Errors
    /// If the namespace selector needs the namespace of the request and that namespace does not exist.
    pub(super) fn matches(
        &self,
        registry: &Registry,
        attributes: &Attributes<'_>,
        object: &Value,
    ) -> Result<Option<Arc<Version>>, Status> {
        let Some(version) = self.version(attributes, object) else { return Ok(None) };
        if !self.selects_object(attributes, object)
            || !self.selects_namespace(registry, attributes, object)?
        {
            return Ok(None);
        }
        Ok(Some(version))
    }

    fn version(&self, attributes: &Attributes<'_>, object: &Value) -> Option<Arc<Version>> {
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

    fn selects_object(&self, attributes: &Attributes<'_>, object: &Value) -> bool {
        if self.objects.is_empty() {
            return true;
        }
        let new = attributes.new_object(object);
        let mut candidates = Some(new).into_iter().chain(attributes.old).filter(|one| !one.is_null());
        candidates.any(|one| self.objects.matches(meta::labels(one)))
    }

    fn selects_namespace(
        &self,
        registry: &Registry,
        attributes: &Attributes<'_>,
        object: &Value,
    ) -> Result<bool, Status> {
        if self.namespaces.is_empty() {
            return Ok(true);
        }
        if attributes.is_namespace() {
            let shown = attributes.new_object(object);
            let shown = if shown.is_null() { object } else { shown };
            return Ok(self.namespaces.matches(meta::labels(shown)));
        }
        // The namespace selector does not restrict cluster-scoped objects.
        let name = attributes.target.namespace;
        if name.is_empty() {
            return Ok(true);
        }
        let found = registry.stored_object("", "namespaces", "", name);
        let found = found.ok_or_else(|| {
            Status::not_found(machinery::status::GroupResource { group: "", resource: "namespaces" }, name)
        })?;
        Ok(self.namespaces.matches(meta::labels(&found)))
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

/// Compiled `matchConditions`, each with its name.
pub(super) struct Conditions(Vec<(String, Result<Program, String>)>);

impl Conditions {
    pub(super) fn of(holder: &Value, variables: &[&str]) -> Self {
        let list = holder["matchConditions"].as_array().into_iter().flatten();
        Self(
            list.map(|condition| {
                let source = condition["expression"].as_str().unwrap_or_default();
                let name = condition["name"].as_str().unwrap_or_default().to_owned();
                (name, Program::compile(source, variables, Expected::Boolean))
            })
            .collect(),
        )
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether all conditions are true. A false condition takes precedence over conditions that fail.
    pub(super) fn hold(&self, input: &Input<'_>) -> Result<bool, String> {
        let mut failures = Vec::new();
        for (name, program) in &self.0 {
            let answer = match program {
                Ok(program) => input.evaluate(&[], &[program]).pop(),
                Err(why) => Some(Err(why.clone())),
            };
            match answer {
                Some(Ok(Answer::Boolean(true))) => {}
                Some(Ok(Answer::Boolean(false))) => return Ok(false),
                Some(Err(why)) => failures.push(format!("expression '{name}' resulted in error: {why}")),
                _ => failures.push(format!("expression '{name}' is no decision")),
            }
        }
        if failures.is_empty() { Ok(true) } else { Err(failures.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::resource;

    #[test]
    fn resources() {
        for (rule, plural, part, matches) in [
            ("pods", "pods", "", true),
            ("pods", "pods", "status", false),
            ("pods/status", "pods", "status", true),
            ("pods/status", "pods", "", false),
            ("pods/*", "pods", "status", true),
            ("pods/*", "pods", "", true),
            ("*", "pods", "", true),
            ("*", "pods", "status", false),
            ("*/*", "pods", "status", true),
            ("*/scale", "pods", "scale", true),
            ("*/scale", "pods", "", false),
            ("nodes", "pods", "", false),
        ] {
            assert_eq!(resource(rule, plural, part), matches, "{rule} {plural}/{part}");
        }
    }
}
