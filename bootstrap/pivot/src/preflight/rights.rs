//! Checks whether the users of both servers have the rights that the pivot needs.

use std::collections::BTreeSet;

use futures::stream::{self, StreamExt, TryStreamExt};
use serde::Deserialize;
use serde_json::json;

use super::places;
use crate::error::Result;
use crate::finding::Finding;
use crate::inventory::{Discovery, Inventory};
use crate::kinds::Kind;
use crate::limits;
use crate::server::Server;

/// Verbs that the pivot uses on objects of the source.
pub const SOURCE_VERBS: &[&str] = &["list", "get", "patch", "delete"];
/// Verbs that the pivot uses on objects of the target.
pub const TARGET_VERBS: &[&str] = &["list", "get", "create", "update", "patch", "delete"];

#[derive(Deserialize)]
struct Review {
    status: Rules,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rules {
    #[serde(default)]
    resource_rules: Vec<Rule>,
    #[serde(default)]
    incomplete: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    #[serde(default)]
    verbs: Vec<String>,
    #[serde(default)]
    api_groups: Vec<String>,
    #[serde(default)]
    resources: Vec<String>,
    #[serde(default)]
    resource_names: Vec<String>,
}

impl Rule {
    fn gives(&self, kind: &Kind, verb: &str) -> bool {
        let holds = |all: &[String], wanted: &str| all.iter().any(|one| one == "*" || one == wanted);
        self.resource_names.is_empty()
            && holds(&self.verbs, verb)
            && holds(&self.api_groups, &kind.group)
            && holds(&self.resources, &kind.plural)
    }
}

/// Returns a finding for each kind and namespace in which a right is missing. Nothing is found where an authoriser cannot list all its
/// rules: the dry run of every object tells more.
pub async fn missing(
    server: &Server,
    inventory: &Inventory,
    discovery: &Discovery,
    verbs: &[&str],
) -> Result<Vec<Finding>> {
    let places = places(inventory);
    let namespaces: BTreeSet<&str> = places.values().flatten().copied().collect();
    let reviews: Vec<_> = namespaces.iter().map(|namespace| rules(server, namespace)).collect();
    let reviews: Vec<Rules> = stream::iter(reviews).buffered(limits::IN_FLIGHT).try_collect().await?;
    let mut found = Vec::new();
    for (namespace, rules) in namespaces.iter().zip(&reviews) {
        for (index, _) in places.iter().filter(|(_, all)| all.contains(namespace) && !rules.incomplete) {
            let kind = &discovery.kinds[*index];
            let gives = |verb: &&str| rules.resource_rules.iter().any(|rule| rule.gives(kind, verb));
            let missing: Vec<&str> = verbs.iter().copied().filter(|verb| !gives(verb)).collect();
            if !missing.is_empty() {
                let place =
                    if namespace.is_empty() { String::new() } else { format!(" in namespace {namespace}") };
                found.push(Finding::error(
                    format!("{}{place} at the {}", kind.resource(), server.role()),
                    format!("the kubeconfig's user may not {}", missing.join(", ")),
                    "use an administrator's kubeconfig, or give the user a role with these verbs",
                ));
            }
        }
    }
    Ok(found)
}

async fn rules(server: &Server, namespace: &str) -> Result<Rules> {
    // For cluster-scoped objects any namespace will do: rules of ClusterRoleBindings show in every namespace.
    let namespace = if namespace.is_empty() { "default" } else { namespace };
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": namespace},
    });
    let path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let answer = server.create("ask for the rights of the user", path, &review).await?;
    let review: Review = serde_json::from_value(answer).map_err(|source| crate::Error::Answer {
        server: server.role(),
        what: "ask for the rights of the user".into(),
        source,
    })?;
    Ok(review.status)
}
