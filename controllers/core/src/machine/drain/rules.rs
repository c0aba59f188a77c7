//! The MachineDrainRules that hold for a Machine.

use std::collections::BTreeMap;

use engine::NamespacedName;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use machinery::selector;
use schemas::cluster::MachineDrainRule;
use serde_json::{Map, Value};

use super::filter::Behavior;
use crate::machine::observed::Observed;

type Labels = BTreeMap<String, String>;

/// The MachineDrainRules that hold for a Machine, sorted by name. The first that fits a Pod counts.
pub struct Rules<'a>(Vec<Rule<'a>>);

struct Rule<'a> {
    rule: &'a MachineDrainRule,
    /// Selectors of Pods and of their namespaces; an empty list means all Pods.
    pods: Vec<[Selector; 2]>,
}

impl<'a> Rules<'a> {
    /// Returns the rules that hold for the observed Machine.
    ///
    /// # Errors
    /// A rule of the Machine's namespace has an invalid selector. It might say that a Pod must be left alone,
    /// so no Pod is evicted then.
    pub fn of(observed: &'a Observed) -> Result<Self, String> {
        let mut rules = Vec::new();
        for rule in &observed.drain_rules {
            let at = |list: &str, index: usize, field: &str| {
                format!(
                    "MachineDrainRule {}: spec.{list}[{index}].{field}",
                    NamespacedName::of(rule.as_ref())
                )
            };
            let mut holds = rule.spec.machines.is_empty();
            for (index, entry) in rule.spec.machines.iter().enumerate() {
                let machine = Selector::parse(entry.selector.as_ref(), || at("machines", index, "selector"))?;
                let cluster = Selector::parse(entry.cluster_selector.as_ref(), || {
                    at("machines", index, "clusterSelector")
                })?;
                holds |= machine.matches(observed.machine.metadata.labels.as_ref())
                    && cluster.matches(observed.cluster.metadata.labels.as_ref());
            }
            let mut pods = Vec::new();
            for (index, entry) in rule.spec.pods.iter().enumerate() {
                pods.push([
                    Selector::parse(entry.selector.as_ref(), || at("pods", index, "selector"))?,
                    Selector::parse(entry.namespace_selector.as_ref(), || {
                        at("pods", index, "namespaceSelector")
                    })?,
                ]);
            }
            if holds {
                rules.push(Rule { rule, pods });
            }
        }
        rules.sort_by(|one, other| one.rule.metadata.name.cmp(&other.rule.metadata.name));
        Ok(Self(rules))
    }

    /// Returns whether a rule selects namespaces by their labels.
    pub fn select_namespaces(&self) -> bool {
        self.0.iter().flat_map(|rule| &rule.pods).any(|[_, namespace]| !namespace.0.is_empty())
    }

    /// Returns what the first rule that fits the Pod says; `None` if none does.
    pub fn behavior(&self, pod: &Pod, namespaces: &BTreeMap<String, Labels>) -> Option<Behavior> {
        let labels = namespaces.get(pod.metadata.namespace.as_deref().unwrap_or_default());
        let fits = |rule: &&Rule<'_>| {
            rule.pods.is_empty()
                || rule.pods.iter().any(|[pods, namespace]| {
                    pods.matches(pod.metadata.labels.as_ref()) && namespace.matches(labels)
                })
        };
        let drain = &self.0.iter().find(fits)?.rule.spec.drain;
        Some(match drain.behavior.as_str() {
            "Skip" => Behavior::Skip,
            "WaitCompleted" => Behavior::WaitCompleted,
            _ => Behavior::Drain(drain.order.unwrap_or_default()),
        })
    }
}

/// A selector; one that is unset or empty matches everything.
struct Selector(selector::LabelSelector);

impl Selector {
    fn parse(selector: Option<&LabelSelector>, field: impl Fn() -> String) -> Result<Self, String> {
        let value = serde_json::to_value(selector).unwrap_or_default();
        let parsed = selector::LabelSelector::from_object(&value);
        parsed.map(Self).map_err(|error| format!("{}: {error}", field()))
    }

    fn matches(&self, labels: Option<&Labels>) -> bool {
        let labels: Map<String, Value> =
            labels.into_iter().flatten().map(|(key, value)| (key.clone(), value.clone().into())).collect();
        self.0.matches(Some(&labels))
    }
}
