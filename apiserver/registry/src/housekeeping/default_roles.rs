//! The default roles and bindings of a cluster, read from `policy/roles.txt` and `policy/controllers.txt`.

use serde_json::{Value, json};

use super::aggregation;

const SOURCES: [&str; 2] =
    [include_str!("../../policy/roles.txt"), include_str!("../../policy/controllers.txt")];
const GROUP: &str = "rbac.authorization.k8s.io";

/// An object that must exist.
pub(crate) struct Wanted {
    pub(crate) plural: &'static str,
    /// Empty for cluster-scoped objects.
    pub(crate) namespace: String,
    pub(crate) object: Value,
}

impl Wanted {
    fn new(plural: &'static str, kind: &str, namespace: &str, name: &str) -> Self {
        let mut object = json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": kind,
            "metadata": {
                "name": name, "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
                "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
            },
        });
        if !namespace.is_empty() {
            object["metadata"]["namespace"] = namespace.into();
        }
        Self { plural, namespace: namespace.to_owned(), object }
    }

    /// Adds a rule from an indented line to the preceding role.
    fn rule(&mut self, words: &[&str]) {
        let rule = match words {
            [verbs, paths] => {
                let paths = paths.strip_prefix("url:").unwrap_or(paths);
                json!({"verbs": self::verbs(verbs), "nonResourceURLs": list(paths)})
            }
            [verbs, groups, resources, names @ ..] => {
                let mut rule = json!({"verbs": self::verbs(verbs), "apiGroups": list(groups), "resources": list(resources)});
                if let [names] = names {
                    rule["resourceNames"] = list(names).into();
                }
                rule
            }
            _ => return,
        };
        match self.object["rules"].as_array_mut() {
            Some(rules) => rules.push(rule),
            None => self.object["rules"] = json!([rule]),
        }
    }

    fn bind(mut self, kind: &str, role: &str, subjects: &[&str]) -> Self {
        self.object["roleRef"] = json!({"apiGroup": GROUP, "kind": kind, "name": role});
        let subject = |word: &&str| match word.split_once('=') {
            Some(("user", name)) => json!({"apiGroup": GROUP, "kind": "User", "name": name}),
            Some(("group", name)) => json!({"apiGroup": GROUP, "kind": "Group", "name": name}),
            _ => {
                let account = word.strip_prefix("account=").unwrap_or(word);
                let (namespace, name) = account.split_once('/').unwrap_or(("", account));
                json!({"kind": "ServiceAccount", "namespace": namespace, "name": name})
            }
        };
        if !subjects.is_empty() {
            self.object["subjects"] = subjects.iter().map(subject).collect();
        }
        self
    }

    /// Applies the words `to ROLE` and `from LABEL` that follow the name of a ClusterRole.
    fn aggregate(mut self, words: &[&str]) -> Self {
        for pair in words.chunks(2) {
            let label = |role: &str| format!("{GROUP}/aggregate-to-{role}");
            match pair {
                ["to", role] => self.object["metadata"]["labels"][label(role)] = "true".into(),
                ["from", role] => {
                    let selector = json!({"matchLabels": {label(role): "true"}});
                    self.object["aggregationRule"] = json!({"clusterRoleSelectors": [selector]});
                }
                _ => {}
            }
        }
        self
    }
}

/// Splits a comma-separated list and sorts it like a real API server.
fn list(text: &str) -> Vec<String> {
    let mut list: Vec<String> =
        text.split(',').map(|one| if one == "core" { String::new() } else { one.to_owned() }).collect();
    list.sort();
    list
}

fn verbs(text: &str) -> Vec<String> {
    let text = text.split(',').map(|verb| match verb {
        "read" => "get,list,watch",
        "write" => "create,update,patch,delete,deletecollection",
        verb => verb,
    });
    list(&text.collect::<Vec<_>>().join(","))
}

/// Returns all roles and bindings. Aggregated roles already contain their rules.
pub(crate) fn all() -> Vec<Wanted> {
    let mut all: Vec<Wanted> = Vec::new();
    for line in SOURCES.iter().flat_map(|source| source.lines()).filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if line.starts_with(' ') {
            if let Some(role) = all.last_mut() {
                role.rule(&words);
            }
            continue;
        }
        all.extend(match words.as_slice() {
            ["clusterrole", name, rest @ ..] => {
                Some(Wanted::new("clusterroles", "ClusterRole", "", name).aggregate(rest))
            }
            ["role", namespace, name] => Some(Wanted::new("roles", "Role", namespace, name)),
            ["clusterrolebinding", name, role, subjects @ ..] => {
                let binding = Wanted::new("clusterrolebindings", "ClusterRoleBinding", "", name);
                Some(binding.bind("ClusterRole", role, subjects))
            }
            ["rolebinding", namespace, name, role, subjects @ ..] => {
                let binding = Wanted::new("rolebindings", "RoleBinding", namespace, name);
                Some(binding.bind("Role", role, subjects))
            }
            _ => None,
        });
    }
    gather(&mut all);
    all
}

/// Sets the rules of aggregated roles.
fn gather(all: &mut [Wanted]) {
    let mut roles = aggregation::Roles::default();
    for one in all.iter().filter(|one| one.plural == "clusterroles") {
        roles.set(&one.object);
    }
    // A role may aggregate another aggregated role.
    while let Some((name, _, rules)) = roles.next_change() {
        roles.set_rules(&name, rules.clone());
        let mut found = all.iter_mut().filter(|one| one.plural == "clusterroles");
        if let Some(role) = found.find(|one| one.object["metadata"]["name"] == name.as_str()) {
            role.object["rules"] = rules.into();
        }
    }
}
