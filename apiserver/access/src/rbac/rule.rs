//! Policy rules: the requests that a rule allows, and the rules that it covers.
//!
//! The semantics are those of `k8s.io/component-helpers/auth/rbac` and Kubernetes' rbac registry.

use std::collections::BTreeMap;

use machinery::field::quote;
use serde::Deserialize;

use crate::attributes::Attributes;

/// A `PolicyRule`. `*` among verbs, groups or resources means all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rule {
    /// Allowed verbs.
    pub verbs: Vec<String>,
    /// API groups; the empty string is the core group.
    pub api_groups: Vec<String>,
    /// Resources and subresources, for example `pods`, `pods/status` or `*/scale`.
    pub resources: Vec<String>,
    /// Names of the objects that the rule is limited to; empty for all objects.
    pub resource_names: Vec<String>,
    /// Non-resource paths; a trailing `*` matches any suffix.
    #[serde(rename = "nonResourceURLs")]
    pub non_resource_urls: Vec<String>,
}

const ALL: &str = "*";

fn has(list: &[String], wanted: &str) -> bool {
    list.iter().any(|one| one == wanted)
}

fn matches(list: &[String], wanted: &str) -> bool {
    list.iter().any(|one| one == ALL || one == wanted)
}

/// Returns whether `list` includes all of `wanted`.
fn has_all(list: &[String], wanted: &[String]) -> bool {
    has(list, ALL) || wanted.iter().all(|one| has(list, one))
}

/// Returns whether `pattern` matches `path`.
fn path_matches(pattern: &str, path: &str) -> bool {
    pattern == path || (pattern.ends_with('*') && path.starts_with(pattern.trim_end_matches('*')))
}

/// Returns whether `pattern` is `*/` followed by this subresource.
fn any_resource(pattern: &str, subresource: &str) -> bool {
    !subresource.is_empty() && pattern.strip_prefix("*/").is_some_and(|rest| rest == subresource)
}

impl Rule {
    /// Returns a rule that allows everything, on resources or on non-resource paths.
    fn all(resources: bool) -> Self {
        let all = || vec![ALL.to_owned()];
        if resources {
            Self { verbs: all(), api_groups: all(), resources: all(), ..Self::default() }
        } else {
            Self { verbs: all(), non_resource_urls: all(), ..Self::default() }
        }
    }

    /// Returns the rules that allow everything.
    pub(crate) fn full_authority() -> [Self; 2] {
        [Self::all(true), Self::all(false)]
    }

    /// Returns whether the rule allows the request.
    pub fn allows(&self, attributes: &Attributes<'_>) -> bool {
        if !matches(&self.verbs, attributes.verb) {
            return false;
        }
        let Some(asked) = attributes.resource else {
            return self.non_resource_urls.iter().any(|url| path_matches(url, attributes.path));
        };
        matches(&self.api_groups, asked.group)
            && self.resources.iter().any(|one| names(one, asked.resource, asked.subresource))
            && (self.resource_names.is_empty() || has(&self.resource_names, asked.name))
    }

    /// Returns whether the rule includes all permissions of `other`, which must be one of [`Rule::parts`].
    fn covers(&self, other: &Self) -> bool {
        let names = if other.resource_names.is_empty() {
            self.resource_names.is_empty()
        } else {
            self.resource_names.is_empty() || has_all(&self.resource_names, &other.resource_names)
        };
        let resource = |one: &String| {
            has(&self.resources, one)
                || one.split_once('/').is_some_and(|(_, part)| has(&self.resources, &format!("*/{part}")))
        };
        let url = |one: &String| self.non_resource_urls.iter().any(|pattern| path_matches(pattern, one));
        names
            && has_all(&self.verbs, &other.verbs)
            && has_all(&self.api_groups, &other.api_groups)
            && (has(&self.resources, ALL) || other.resources.iter().all(resource))
            && other.non_resource_urls.iter().all(url)
    }

    /// Splits the rule into rules with one verb, group, resource and name each.
    fn parts(&self) -> Vec<Self> {
        let one = |text: &String| vec![text.clone()];
        let mut parts = Vec::new();
        for (group, resource) in
            self.api_groups.iter().flat_map(|group| self.resources.iter().map(move |one| (group, one)))
        {
            for verb in &self.verbs {
                let part = Self {
                    verbs: one(verb),
                    api_groups: one(group),
                    resources: one(resource),
                    ..Self::default()
                };
                if self.resource_names.is_empty() {
                    parts.push(part);
                } else {
                    let named = |name| Self { resource_names: one(name), ..part.clone() };
                    parts.extend(self.resource_names.iter().map(named));
                }
            }
        }
        for url in &self.non_resource_urls {
            let part = |verb| Self { verbs: one(verb), non_resource_urls: one(url), ..Self::default() };
            parts.extend(self.verbs.iter().map(part));
        }
        parts
    }

    /// Formats the rule as in error messages: `{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}`.
    fn shown(&self) -> String {
        let lists = [
            ("APIGroups", &self.api_groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.non_resource_urls),
            ("ResourceNames", &self.resource_names),
            ("Verbs", &self.verbs),
        ];
        let filled = lists.into_iter().filter(|(_, list)| !list.is_empty());
        let parts: Vec<String> = filled.map(|(name, list)| format!("{name}:{}", quoted(list))).collect();
        format!("{{{}}}", parts.join(", "))
    }
}

/// Returns whether a rule's `pattern` matches the resource.
fn names(pattern: &str, resource: &str, subresource: &str) -> bool {
    if pattern == ALL || any_resource(pattern, subresource) {
        return true;
    }
    if subresource.is_empty() {
        return pattern == resource;
    }
    pattern.split_once('/').is_some_and(|(one, part)| one == resource && part == subresource)
}

/// Formats a list of strings as Go's `%q` does.
pub(crate) fn quoted(list: &[String]) -> String {
    let items: Vec<String> = list.iter().map(|text| quote(text)).collect();
    format!("[{}]", items.join(" "))
}

/// Returns the permissions in `wanted` that `owned` lacks, formatted as in error messages and sorted; `None`
/// if there are none.
pub fn beyond(owned: &[&Rule], wanted: &[Rule]) -> Option<Vec<String>> {
    let parts = wanted.iter().flat_map(Rule::parts);
    let missing: Vec<Rule> = parts.filter(|part| !owned.iter().any(|rule| rule.covers(part))).collect();
    if missing.is_empty() {
        return None;
    }
    // Rules that differ only in their verb are shown as one rule.
    let mut shown: Vec<String> = Vec::new();
    let mut by_resource: BTreeMap<[Vec<String>; 3], Rule> = BTreeMap::new();
    for rule in missing {
        if !rule.non_resource_urls.is_empty() {
            shown.push(rule.shown());
            continue;
        }
        let key = [rule.api_groups.clone(), rule.resources.clone(), rule.resource_names.clone()];
        match by_resource.get_mut(&key) {
            Some(known) => known.verbs.extend(rule.verbs),
            None => drop(by_resource.insert(key, rule)),
        }
    }
    shown.extend(by_resource.values().map(Rule::shown));
    shown.sort();
    shown.dedup();
    Some(shown)
}
