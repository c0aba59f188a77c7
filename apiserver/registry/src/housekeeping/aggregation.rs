//! Maintains the rules of ClusterRoles with an `aggregationRule`: the rules of all roles that it selects.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use kinds::Subresource;
use machinery::meta;
use machinery::selector::LabelSelector;
use machinery::status::Status;
use serde_json::{Map, Value, json};
use store::{Event, EventKind};

use super::part::Part;
use crate::context::{Context, Input, PatchBody};
use crate::verbs;
use crate::write::writes::Writes;

pub(crate) const PREFIX: &str = "/registry/rbac.authorization.k8s.io/clusterroles/";
const MANAGER: &str = "clusterrole-aggregation-controller";

struct Role {
    uid: String,
    labels: Map<String, Value>,
    rules: Vec<Value>,
    /// The selectors of the `aggregationRule`; `None` for a role without one.
    selectors: Option<Vec<LabelSelector>>,
}

/// All ClusterRoles by name. Does no I/O.
#[derive(Default)]
pub(crate) struct Roles {
    roles: BTreeMap<String, Role>,
    /// Names of aggregated roles to check.
    queue: BTreeSet<String>,
}

impl Roles {
    pub(crate) fn set(&mut self, object: &Value) {
        let selectors = object["aggregationRule"].get("clusterRoleSelectors").and_then(Value::as_array);
        let role = Role {
            uid: meta::uid(object).to_owned(),
            labels: meta::labels(object).cloned().unwrap_or_default(),
            rules: object["rules"].as_array().cloned().unwrap_or_default(),
            // An invalid selector selects nothing.
            selectors: selectors.map(|list| {
                list.iter().filter_map(|selector| LabelSelector::from_object(selector).ok()).collect()
            }),
        };
        self.roles.insert(meta::name(object).to_owned(), role);
        self.queue_all();
    }

    fn remove(&mut self, name: &str) {
        self.roles.remove(name);
        self.queue_all();
    }

    pub(crate) fn set_rules(&mut self, name: &str, rules: Vec<Value>) {
        if let Some(role) = self.roles.get_mut(name) {
            role.rules = rules;
        }
        self.queue_all();
    }

    /// Queues all aggregated roles: there are few of them, and checking one is cheap.
    fn queue_all(&mut self) {
        let gathering = self.roles.iter().filter(|(_, role)| role.selectors.is_some());
        self.queue = gathering.map(|(name, _)| name.clone()).collect();
    }

    /// Returns name and UID of the next aggregated role whose rules are wrong, with the correct rules.
    pub(crate) fn next_change(&mut self) -> Option<(String, String, Vec<Value>)> {
        while let Some(name) = self.queue.pop_first() {
            let Some(role) = self.roles.get(&name) else { continue };
            let rules = self.gathered(&name, role.selectors.as_deref().unwrap_or_default());
            if rules != role.rules {
                let uid = role.uid.clone();
                return Some((name, uid, rules));
            }
        }
        None
    }

    fn gathered(&self, name: &str, selectors: &[LabelSelector]) -> Vec<Value> {
        let (mut rules, mut seen) = (Vec::new(), HashSet::new());
        for selector in selectors {
            let selected = self
                .roles
                .iter()
                .filter(|(other, role)| *other != name && selector.matches(Some(&role.labels)));
            for rule in selected.flat_map(|(_, role)| &role.rules) {
                if seen.insert(rule) {
                    rules.push(rule.clone());
                }
            }
        }
        rules
    }
}

/// The task that keeps aggregated roles up to date.
pub(crate) struct Aggregation(Roles);

impl Aggregation {
    pub(crate) fn new(writes: &Writes) -> Self {
        let mut roles = Roles::default();
        for stored in writes.storage().range(PREFIX).0 {
            if let Ok(object) = machinery::decode::own::<Value>(&stored.value) {
                roles.set(&object);
            }
        }
        Self(roles)
    }
}

impl Part for Aggregation {
    fn observe(&mut self, _writes: &Writes, event: &Event) {
        match event.kind {
            EventKind::Deleted => self.0.remove(event.key().name()),
            _ => {
                if let Ok(object) = machinery::decode::own::<Value>(&event.object.value) {
                    self.0.set(&object);
                }
            }
        }
    }

    async fn work(&mut self, writes: &Writes) -> bool {
        while let Some((name, uid, rules)) = self.0.next_change() {
            if let Err(status) = write(writes, &name, &uid, rules).await
                && !matches!(status.reason, "NotFound" | "Conflict")
            {
                tracing::warn!(name, %status, "the rules of an aggregated ClusterRole could not be written");
            }
        }
        false
    }
}

/// Writes the rules of the role with this UID. A role that was created again under its name may gather nothing, and gets no rules; nor does
/// the apply create a role again that was deleted.
async fn write(writes: &Writes, name: &str, uid: &str, rules: Vec<Value>) -> Result<(), Status> {
    let Some(served) = writes.versions().served("rbac.authorization.k8s.io", "v1", "clusterroles") else {
        return Ok(());
    };
    let object = json!({
        "apiVersion": served.api_version(), "kind": "ClusterRole", "metadata": {"name": name, "uid": uid}, "rules": rules,
    });
    let patch = PatchBody::Apply { input: Input::new(object), force: true };
    let mut context = Context::internal(MANAGER);
    verbs::patch(writes, &mut context, &served, "", name, Subresource::None, patch).await.map(drop)
}
