//! Role bindings, indexed by the users and groups that they name.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use machinery::field::quote;
use serde::Deserialize;

use kinds::user::{SERVICE_ACCOUNT_PREFIX, User};

/// A `RoleBinding` or `ClusterRoleBinding`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Binding {
    pub(super) role_ref: RoleRef,
    subjects: Option<Vec<Subject>>,
}

/// The role that a binding grants.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RoleRef {
    pub(super) api_group: String,
    pub(super) kind: String,
    pub(super) name: String,
}

/// A subject of a binding.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Subject {
    kind: String,
    name: String,
    namespace: String,
}

enum Principal {
    User(String),
    Group(String),
}

impl Subject {
    /// Returns the user or group that a subject of a binding in `namespace` stands for; `None` for an unknown
    /// or incomplete subject.
    fn principal(&self, namespace: &str) -> Option<Principal> {
        match self.kind.as_str() {
            "User" => Some(Principal::User(self.name.clone())),
            "Group" => Some(Principal::Group(self.name.clone())),
            "ServiceAccount" => {
                let namespace = if self.namespace.is_empty() { namespace } else { &self.namespace };
                (!namespace.is_empty())
                    .then(|| Principal::User(format!("{SERVICE_ACCOUNT_PREFIX}{namespace}:{}", self.name)))
            }
            _ => None,
        }
    }

    fn is(&self, user: &User, namespace: &str) -> bool {
        match self.principal(namespace) {
            Some(Principal::User(name)) => name == user.name,
            Some(Principal::Group(group)) => user.is_in(&group),
            None => false,
        }
    }

    fn shown(&self, namespace: &str) -> String {
        if self.kind != "ServiceAccount" {
            return format!("{} {}", self.kind, quote(&self.name));
        }
        let namespace = if self.namespace.is_empty() { namespace } else { &self.namespace };
        format!("{} {}", self.kind, quote(&format!("{}/{namespace}", self.name)))
    }
}

impl Binding {
    fn subjects(&self) -> &[Subject] {
        self.subjects.as_deref().unwrap_or_default()
    }

    /// Returns the first subject that includes `user`, in the form of kube-apiserver's reasons.
    pub(super) fn subject(&self, user: &User, namespace: &str) -> String {
        let subject = self.subjects().iter().find(|subject| subject.is(user, namespace));
        subject.map(|subject| subject.shown(namespace)).unwrap_or_default()
    }
}

/// The bindings of one namespace, or the ClusterRoleBindings.
#[derive(Debug, Default)]
pub(super) struct Bindings {
    by_name: BTreeMap<Arc<str>, Binding>,
    by_user: HashMap<String, BTreeSet<Arc<str>>>,
    by_group: HashMap<String, BTreeSet<Arc<str>>>,
}

impl Bindings {
    /// Adds, replaces or removes a binding. `namespace` is that of the binding.
    pub(super) fn set(&mut self, namespace: &str, name: &str, binding: Option<Binding>) {
        if let Some(old) = self.by_name.remove(name) {
            for subject in old.subjects() {
                self.index(subject, namespace, |names| {
                    names.remove(name);
                });
            }
        }
        let Some(binding) = binding else { return };
        let name: Arc<str> = name.into();
        for subject in binding.subjects() {
            self.index(subject, namespace, |names| {
                names.insert(name.clone());
            });
        }
        self.by_name.insert(name, binding);
    }

    fn index(&mut self, subject: &Subject, namespace: &str, change: impl FnOnce(&mut BTreeSet<Arc<str>>)) {
        let (index, key) = match subject.principal(namespace) {
            Some(Principal::User(name)) => (&mut self.by_user, name),
            Some(Principal::Group(name)) => (&mut self.by_group, name),
            None => return,
        };
        let names = index.entry(key.clone()).or_default();
        change(names);
        if names.is_empty() {
            index.remove(&key);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Returns the bindings that grant a role to `user`, by name.
    pub(super) fn of(&self, user: &User) -> Vec<(&str, &Binding)> {
        let own = self.by_user.get(&user.name);
        let groups = user.groups.iter().filter_map(|group| self.by_group.get(group));
        let mut names: Vec<&Arc<str>> = own.into_iter().chain(groups).flatten().collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter().filter_map(|name| Some((&**name, self.by_name.get(name)?))).collect()
    }
}
