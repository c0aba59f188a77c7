//! Checks whether the target accepts every object: a dry run of each creation, if something at the target could refuse an object that
//! the source accepted.

use futures::stream::{self, StreamExt, TryStreamExt};
use serde_json::Value;

use crate::desired::{Identities, desired};
use crate::error::Result;
use crate::finding::Finding;
use crate::inventory::{Discovery, Inventory, Item};
use crate::kinds::{Definition, Kind};
use crate::limits;
use crate::server::Server;

/// Paths of admission configurations: if one of any kind exists, every object is tried.
const CONFIGURATIONS: &[(&str, &str)] = &[
    (
        "list ValidatingWebhookConfigurations",
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    ),
    (
        "list MutatingWebhookConfigurations",
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    ),
    (
        "list ValidatingAdmissionPolicyBindings",
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
    ),
    (
        "list MutatingAdmissionPolicyBindings",
        "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings",
    ),
    ("list ResourceQuotas", "/api/v1/resourcequotas"),
];

/// Tries to create every object in a dry run. An object is left out if its definition is the same at both servers, both run the same
/// release, and the target has no admission configuration: such a target accepts what the source has stored. Returns how many objects
/// were tried, and the refusals.
///
/// # Errors
/// A server cannot be reached.
pub async fn try_all(
    source: &Server,
    target: &Server,
    discovery: &Discovery,
    there: &Discovery,
    inventory: &Inventory,
) -> Result<(usize, Vec<Finding>)> {
    let alike = same_release(source, target).await? && !has_admission(target).await?;
    let same = |kind: &Kind| {
        let named = |definition: &&Definition| definition.name() == kind.resource();
        let (here, there) = (discovery.definitions.iter().find(named), there.definitions.iter().find(named));
        kind.group.is_empty()
            || here.zip(there).is_some_and(|(here, there)| here.same_schema(there, &kind.version))
    };
    let sure: Vec<bool> = discovery.kinds.iter().map(|kind| alike && same(kind)).collect();
    let tries: Vec<_> = inventory
        .plan
        .steps()
        .filter_map(|step| inventory.items.get(&step.object))
        .filter(|item| !sure[item.kind])
        .map(|item| try_one(target, &discovery.kinds[item.kind], item))
        .collect();
    let tried = tries.len();
    let found: Vec<Option<Finding>> = stream::iter(tries).buffered(limits::IN_FLIGHT).try_collect().await?;
    Ok((tried, found.into_iter().flatten().collect()))
}

async fn try_one(target: &Server, kind: &Kind, item: &Item) -> Result<Option<Finding>> {
    let key = &item.object.key;
    let wanted = desired(item, None, &Identities::default());
    let path = format!("{}?dryRun=All&fieldValidation=Ignore", kind.path(&key.namespace));
    match target.create(&format!("try to create {key}"), &path, &wanted.object).await {
        Ok(_) => Ok(None),
        // Preflight has already reported the objects that existed before; an object that exists now is ours.
        Err(error) if error.is_already_exists() => Ok(None),
        // Webhooks that cannot be reached refuse with 500.
        Err(error) if error.is_answer() => Ok(Some(Finding::error(
            format!("{key} at the target"),
            format!("a dry run of its creation is refused: {error}"),
            "change the object, or the policy, webhook or quota that refuses it",
        ))),
        Err(error) => Err(error),
    }
}

async fn same_release(source: &Server, target: &Server) -> Result<bool> {
    let (one, other): (Value, Value) = futures::try_join!(
        source.get("get the version", "/version"),
        target.get("get the version", "/version")
    )?;
    Ok(one["gitVersion"] == other["gitVersion"])
}

async fn has_admission(target: &Server) -> Result<bool> {
    for (what, path) in CONFIGURATIONS {
        match target.get::<Value>(what, &format!("{path}?limit=1")).await {
            Ok(list) if list["items"].as_array().is_some_and(|items| !items.is_empty()) => return Ok(true),
            Ok(_) => {}
            Err(error) if error.is_not_found() => {}
            // We may not list these configurations, so something may refuse objects: they must be tried.
            Err(error) if error.is_refusal() => return Ok(true),
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}
