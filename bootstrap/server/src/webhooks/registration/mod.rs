//! Keeps the authority of the webhooks in the objects that make an API server call them: the webhook configurations, and the
//! CustomResourceDefinitions that firstlight installed.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::Manager;
use engine::patch::merge_difference;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    ApiResource, DynamicObject, GroupVersionKind, ListParams, NotUsed, Object, Patch, PatchParams,
};
use kube::{Api, Client, ResourceExt};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::names::{CONFIGURATION, CONVERSION, DEFAULTS, RULES, SERVICE};
use super::reviews::{Needs, Purpose, needs};
use crate::names::WEBHOOKS;

/// The interval at which the objects are read, because somebody may have changed them.
const CHECK: Duration = Duration::from_secs(60);
/// The time before the next attempt after an error.
const RETRY: Duration = Duration::from_secs(5);
/// The field manager of these changes. That of the installation does not own them, so applying it again leaves them.
const MANAGER: &str = "firstlight-webhooks";
const ADMISSION: &str = "admissionregistration.k8s.io";

/// Keeps the objects right, for ever.
pub async fn keep(manager: Manager, namespace: String, mut authority: watch::Receiver<String>) {
    let mut registration = match Registration::new(manager.client().clone(), namespace) {
        Ok(registration) => registration,
        Err(error) => return tracing::error!("no webhook is registered: {error:#}"),
    };
    loop {
        let bundle = STANDARD.encode(authority.borrow_and_update().as_bytes());
        let mut pause = CHECK;
        if let Err(error) = registration.register(&bundle).await {
            tracing::warn!("cannot register the webhooks: {error:#}");
            pause = RETRY;
        }
        tokio::select! {
            biased;
            () = manager.clock().sleep(pause) => {}
            changed = authority.changed() => if changed.is_err() { return },
        }
    }
}

/// What is known of a kind. Its schema, the most of its definition, is not kept.
pub struct Kind {
    /// The name of its CustomResourceDefinition.
    definition: String,
    group: String,
    plural: String,
    versions: Vec<String>,
    needs: Needs,
}

impl Kind {
    /// Returns what is known of the kind that this CustomResourceDefinition defines.
    pub fn of(definition: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let spec = &definition["spec"];
        let versions = spec["versions"].as_array().into_iter().flatten();
        Self {
            definition: text(&definition["metadata"]["name"]),
            group: text(&spec["group"]),
            plural: text(&spec["names"]["plural"]),
            versions: versions.map(|version| text(&version["name"])).collect(),
            needs: needs(definition),
        }
    }
}

/// The part of a CustomResourceDefinition that is read.
type Definition = Object<DefinitionSpec, NotUsed>;

#[derive(Debug, Clone, Serialize, Deserialize)]
struct DefinitionSpec {
    #[serde(default)]
    conversion: Value,
}

/// The registration of the webhooks in a cluster.
pub struct Registration {
    client: Client,
    namespace: String,
    kinds: Vec<Kind>,
    /// The authority of the last registration.
    bundle: String,
    /// The resourceVersions at which definitions were right for `bundle`, by their names. Until they change, they are not read again.
    right: BTreeMap<String, String>,
}

impl Registration {
    /// Creates the registration for the webhooks in this namespace.
    ///
    /// # Errors
    /// Never, for the built-in definitions.
    pub fn new(client: Client, namespace: String) -> Result<Self> {
        let kinds = schemas::crds()?.iter().map(Kind::of).collect();
        Ok(Self { client, namespace, kinds, bundle: String::new(), right: BTreeMap::new() })
    }

    /// Registers the webhooks for those known definitions of the cluster that an installation has marked. Others are those of somebody else,
    /// with webhooks of their own, or the cluster's server is firstlight, which needs no webhooks.
    ///
    /// # Errors
    /// A request fails.
    pub async fn register(&mut self, bundle: &str) -> Result<()> {
        if self.bundle != bundle {
            self.right.clear();
            bundle.clone_into(&mut self.bundle);
        }
        let definitions: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        let found = definitions.list_metadata(&ListParams::default()).await;
        let mut found = found.context("CustomResourceDefinitions cannot be listed")?.items;
        found.retain(|one| one.annotations().get(WEBHOOKS).is_some_and(|marked| *marked == self.namespace));
        let found: BTreeMap<String, Option<String>> =
            found.iter().map(|one| (one.name_any(), one.resource_version())).collect();
        let ours: Vec<&Kind> =
            self.kinds.iter().filter(|kind| found.contains_key(&kind.definition)).collect();
        for name in ours.iter().filter(|kind| kind.needs.conversion).map(|kind| &kind.definition) {
            if self.right.get(name) != found[name].as_ref()
                && let Some(version) = self.convert(name).await?
            {
                self.right.insert(name.clone(), version);
            }
        }
        for purpose in [Purpose::Defaults, Purpose::Rules] {
            let rules = rules(purpose, &ours);
            let wanted = |found: &Value| {
                let mut wanted = found.clone();
                if !rules.is_empty() {
                    wanted["webhooks"] = json!([webhook(purpose, &rules, &self.namespace, bundle)]);
                } else if !found["webhooks"].is_null() {
                    wanted["webhooks"] = json!([]);
                }
                wanted
            };
            change(&self.client, purpose.kind(), wanted).await?;
        }
        Ok(())
    }

    /// Makes the webhooks convert the objects of a CustomResourceDefinition. Returns its resourceVersion; `None` if it does not exist.
    async fn convert(&self, name: &str) -> Result<Option<String>> {
        let resource = resource("apiextensions.k8s.io", "CustomResourceDefinition");
        let api: Api<Definition> = Api::all_with(self.client.clone(), &resource);
        let failed = || format!("{} {name}", resource.kind);
        let Some(found) = api.get_opt(name).await.with_context(failed)? else { return Ok(None) };
        let mut wanted = conversion(&self.namespace);
        wanted["webhook"]["clientConfig"]["caBundle"] = self.bundle.as_str().into();
        let wanted = json!({"spec": {"conversion": wanted}});
        let Some(patch) = merge_difference(&json!({"spec": found.spec}), &wanted) else {
            return Ok(found.metadata.resource_version);
        };
        let patched = api.patch_metadata(name, &parameters(), &Patch::Merge(patch)).await;
        let patched = patched.with_context(failed)?;
        tracing::info!(kind = resource.kind, name, "the webhooks are registered");
        Ok(patched.metadata.resource_version)
    }
}

/// Patches a webhook configuration with the difference to what `wanted` makes of it. One that does not exist is left out.
async fn change(client: &Client, kind: &str, wanted: impl Fn(&Value) -> Value) -> Result<()> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource(ADMISSION, kind));
    let failed = || format!("{kind} {CONFIGURATION}");
    let Some(found) = api.get_opt(CONFIGURATION).await.with_context(failed)? else { return Ok(()) };
    let found = serde_json::to_value(found)?;
    let Some(patch) = merge_difference(&found, &wanted(&found)) else { return Ok(()) };
    api.patch(CONFIGURATION, &parameters(), &Patch::Merge(patch)).await.with_context(failed)?;
    tracing::info!(kind, name = CONFIGURATION, "the webhooks are registered");
    Ok(())
}

fn parameters() -> PatchParams {
    PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() }
}

fn resource(group: &str, kind: &str) -> ApiResource {
    let gvk = GroupVersionKind::gvk(group, "v1", kind);
    ApiResource::from_gvk_with_plural(&gvk, &format!("{}s", kind.to_lowercase()))
}

/// Returns the entry of a webhook configuration, with all fields that the API server would set by default.
fn webhook(purpose: Purpose, rules: &[Value], namespace: &str, bundle: &str) -> Value {
    let (name, path) = match purpose {
        Purpose::Defaults => ("defaults.firstlight.dev", DEFAULTS),
        Purpose::Rules => ("rules.firstlight.dev", RULES),
    };
    let mut webhook = json!({
        "name": name,
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"namespace": namespace, "name": SERVICE, "path": path, "port": 443}, "caBundle": bundle},
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "rules": rules,
        "sideEffects": "None",
        "timeoutSeconds": 10,
    });
    if purpose == Purpose::Defaults {
        webhook["reinvocationPolicy"] = "Never".into();
    }
    webhook
}

/// Returns the rules: one for the resources of a group that have the same versions, and need the webhook for this purpose. They name all
/// versions, so that the webhook gets an object in the version in which its client wrote it.
pub fn rules(purpose: Purpose, kinds: &[&Kind]) -> Vec<Value> {
    let mut rules: BTreeMap<(&str, &[String]), Vec<String>> = BTreeMap::new();
    for Kind { group, plural, versions, needs, .. } in kinds {
        let (itself, scale) = match purpose {
            Purpose::Defaults => (needs.defaults, false),
            Purpose::Rules => (needs.rules, needs.scale_rules),
        };
        let resources = rules.entry((group, versions)).or_default();
        resources.extend(itself.then(|| plural.clone()));
        resources.extend(scale.then(|| format!("{plural}/scale")));
    }
    rules.retain(|_, resources| !resources.is_empty());
    let rule = |group: &str, versions: &[String], operations: &[&str], resources: Vec<String>| json!({"apiGroups": [group], "apiVersions": versions, "operations": operations, "resources": resources, "scope": "*"});
    let writes = |((group, versions), resources): ((&str, &[String]), Vec<String>)| {
        rule(group, versions, &["CREATE", "UPDATE"], resources)
    };
    let deletions = kinds
        .iter()
        .filter(|kind| purpose == Purpose::Rules && kind.needs.deletion_rules)
        .map(|kind| rule(&kind.group, &kind.versions, &["DELETE"], vec![kind.plural.clone()]));
    rules.into_iter().map(writes).chain(deletions).collect()
}

/// Returns `spec.conversion` of the kinds whose versions differ, without the authority.
pub fn conversion(namespace: &str) -> Value {
    json!({"strategy": "Webhook", "webhook": {
        "clientConfig": {"service": {"namespace": namespace, "name": SERVICE, "path": CONVERSION, "port": 443}},
        "conversionReviewVersions": ["v1"],
    }})
}
