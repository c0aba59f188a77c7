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
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::names::{CONFIGURATION, CONVERSION, DEFAULTS, RULES, SERVICE};
use super::reviews::{Purpose, needs};
use crate::names::WEBHOOKS;

/// The interval at which the objects are read, because somebody may have changed them.
const CHECK: Duration = Duration::from_secs(60);
/// The time before the next attempt after an error.
const RETRY: Duration = Duration::from_secs(5);
/// The field manager of these changes. That of the installation does not own them, so applying it again leaves them.
const MANAGER: &str = "firstlight-webhooks";
const ADMISSION: &str = "admissionregistration.k8s.io";

/// Keeps the objects right, for ever.
pub(super) async fn keep(manager: Manager, namespace: String, mut authority: watch::Receiver<String>) {
    let known = match schemas::crds() {
        Ok(known) => known,
        Err(error) => return tracing::error!("no webhook is registered: {error:#}"),
    };
    loop {
        let bundle = STANDARD.encode(authority.borrow_and_update().as_bytes());
        let mut pause = CHECK;
        if let Err(error) = register(manager.client(), &known, &namespace, &bundle).await {
            tracing::warn!("cannot register the webhooks: {error:#}");
            pause = RETRY;
        }
        tokio::select! {
            () = manager.clock().sleep(pause) => {}
            changed = authority.changed() => if changed.is_err() { return },
        }
    }
}

/// Registers the webhooks for those `known` definitions of the cluster that an installation has marked. Others are those of somebody else,
/// with webhooks of their own, or the cluster's server is firstlight, which needs no webhooks.
pub(super) async fn register(client: &Client, known: &[Value], namespace: &str, bundle: &str) -> Result<()> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let found = definitions.list_metadata(&ListParams::default()).await;
    let found = found.context("CustomResourceDefinitions cannot be listed")?.items;
    let is_ours = |name: &str| {
        found.iter().any(|one| {
            one.name_any() == name
                && one.annotations().get(WEBHOOKS).is_some_and(|marked| marked == namespace)
        })
    };
    let name = |definition: &'_ Value| definition["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let ours: Vec<&Value> = known.iter().filter(|definition| is_ours(&name(definition))).collect();
    for definition in ours.iter().filter(|definition| needs(definition).conversion) {
        let wanted = |found: &Value| convertible(found, namespace, bundle);
        change(client, "apiextensions.k8s.io", "CustomResourceDefinition", &name(definition), wanted).await?;
    }
    for purpose in [Purpose::Defaults, Purpose::Rules] {
        let rules = rules(purpose, &ours);
        let wanted = |found: &Value| {
            let mut wanted = found.clone();
            if !rules.is_empty() {
                wanted["webhooks"] = json!([webhook(purpose, &rules, namespace, bundle)]);
            } else if !found["webhooks"].is_null() {
                wanted["webhooks"] = json!([]);
            }
            wanted
        };
        change(client, ADMISSION, purpose.kind(), CONFIGURATION, wanted).await?;
    }
    Ok(())
}

/// Patches an object with the difference to what `wanted` makes of it. An object that does not exist is left out.
async fn change(
    client: &Client,
    group: &str,
    kind: &str,
    name: &str,
    wanted: impl Fn(&Value) -> Value,
) -> Result<()> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource(group, kind));
    let failed = || format!("{kind} {name}");
    let Some(found) = api.get_opt(name).await.with_context(failed)? else { return Ok(()) };
    let found = serde_json::to_value(found)?;
    let Some(patch) = merge_difference(&found, &wanted(&found)) else { return Ok(()) };
    let parameters = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    api.patch(name, &parameters, &Patch::Merge(patch)).await.with_context(failed)?;
    tracing::info!(kind, name, "the webhooks are registered");
    Ok(())
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
fn rules(purpose: Purpose, definitions: &[&Value]) -> Vec<Value> {
    let mut rules: BTreeMap<(&str, Vec<&str>), Vec<String>> = BTreeMap::new();
    for definition in definitions {
        let (spec, needs) = (&definition["spec"], needs(definition));
        let resource = spec["names"]["plural"].as_str().unwrap_or_default();
        let (itself, scale) = match purpose {
            Purpose::Defaults => (needs.defaults, false),
            Purpose::Rules => (needs.rules, needs.scale_rules),
        };
        let versions = spec["versions"].as_array().into_iter().flatten();
        let versions = versions.filter_map(|version| version["name"].as_str()).collect();
        let resources = rules.entry((spec["group"].as_str().unwrap_or_default(), versions)).or_default();
        resources.extend(itself.then(|| resource.to_owned()));
        resources.extend(scale.then(|| format!("{resource}/scale")));
    }
    rules.retain(|_, resources| !resources.is_empty());
    let rule = |((group, versions), resources)| json!({"apiGroups": [group], "apiVersions": versions, "operations": ["CREATE", "UPDATE"], "resources": resources, "scope": "*"});
    rules.into_iter().map(rule).collect()
}

/// Returns a CustomResourceDefinition whose objects the webhooks convert.
fn convertible(found: &Value, namespace: &str, bundle: &str) -> Value {
    let mut wanted = found.clone();
    wanted["spec"]["conversion"] = conversion(namespace);
    wanted["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] = bundle.into();
    wanted
}

/// Returns `spec.conversion` of the kinds whose versions differ, without the authority.
pub fn conversion(namespace: &str) -> Value {
    json!({"strategy": "Webhook", "webhook": {
        "clientConfig": {"service": {"namespace": namespace, "name": SERVICE, "path": CONVERSION, "port": 443}},
        "conversionReviewVersions": ["v1"],
    }})
}

#[cfg(test)]
mod tests {
    use access::User;
    use kube::api::PostParams;
    use machinery::clock::Clock;
    use machinery::random::Random;
    use registry::Registry;
    use serving::Server;
    use store::{Memory, Store};

    use super::*;

    #[test]
    fn rules_come_from_the_table_of_kinds() {
        let known = schemas::crds().unwrap();
        let all: Vec<&Value> = known.iter().collect();
        let versions = |purpose, group: &str, resource: &str| {
            let rules = rules(purpose, &all);
            let mut found = rules.iter().filter(|rule| {
                rule["apiGroups"] == json!([group])
                    && rule["resources"].as_array().unwrap().contains(&json!(resource))
            });
            found.next().map(|rule| rule["apiVersions"].clone())
        };
        let infrastructure = "infrastructure.cluster.x-k8s.io";
        let both = Some(json!(["v1beta2", "v1beta1"]));
        let defaults = |group, resource| versions(Purpose::Defaults, group, resource);
        assert_eq!(defaults("cluster.x-k8s.io", "clusters"), Some(json!(["v1beta2"])));
        assert_eq!(defaults("cluster.x-k8s.io", "machinedrainrules"), None);
        assert_eq!(defaults(infrastructure, "metal3machines"), both);
        let rules = |group, resource| versions(Purpose::Rules, group, resource);
        assert_eq!(rules("cluster.x-k8s.io", "machinedrainrules"), Some(json!(["v1beta2"])));
        assert_eq!(rules(infrastructure, "metal3machines"), both);
        assert!(rules("controlplane.cluster.x-k8s.io", "kubeadmcontrolplanes/scale").is_some());
        assert_eq!(rules("clusterctl.cluster.x-k8s.io", "providers"), None);
    }

    /// Registering again must change nothing, or it would do so every minute.
    #[tokio::test]
    async fn marked_definitions_are_registered_once() {
        let clock = Clock::system();
        let store = Store::open(Memory::new(), clock.clone()).await.unwrap();
        let options = registry::Options::default();
        let registry = Registry::open(store, clock.clone(), Random::seeded(1), options).await.unwrap();
        let server = Server::builder(registry, clock).build();
        let client = Client::new(server.client_service(User::master("test")), "default");
        let known = schemas::crds().unwrap();
        let metal3 = |plural: &str| format!("{plural}.infrastructure.cluster.x-k8s.io");
        let definitions: Api<DynamicObject> =
            Api::all_with(client.clone(), &resource("apiextensions.k8s.io", "CustomResourceDefinition"));
        for (plural, namespace) in
            [("metal3machines", Some("here")), ("metal3datas", None), ("metal3clusters", Some("there"))]
        {
            let mut definition =
                known.iter().find(|one| one["metadata"]["name"] == metal3(plural)).unwrap().clone();
            if let Some(namespace) = namespace {
                definition["metadata"]["annotations"][WEBHOOKS] = namespace.into();
            }
            let definition = serde_json::from_value(definition).unwrap();
            definitions.create(&PostParams::default(), &definition).await.unwrap();
        }
        let configurations: Api<DynamicObject> =
            Api::all_with(client.clone(), &resource(ADMISSION, Purpose::Rules.kind()));
        let empty = DynamicObject::new(CONFIGURATION, &resource(ADMISSION, Purpose::Rules.kind()));
        configurations.create(&PostParams::default(), &empty).await.unwrap();

        let state = async || {
            let mut state = vec![configurations.get(CONFIGURATION).await.unwrap()];
            for plural in ["metal3machines", "metal3datas", "metal3clusters"] {
                state.push(definitions.get(&metal3(plural)).await.unwrap());
            }
            state
        };
        register(&client, &known, "here", "YQ==").await.unwrap();
        let first = state().await;
        let webhooks = &first[0].data["webhooks"];
        assert_eq!(webhooks[0]["rules"][0]["resources"], json!(["metal3machines"]), "{webhooks}");
        let strategies: Vec<&Value> =
            first[1..].iter().map(|one| &one.data["spec"]["conversion"]["strategy"]).collect();
        assert_eq!(strategies, ["Webhook", "None", "None"]);
        register(&client, &known, "here", "YQ==").await.unwrap();
        assert_eq!(state().await, first);
        register(&client, &known, "nowhere", "YQ==").await.unwrap();
        assert_eq!(state().await[0].data["webhooks"], Value::Null);
    }
}
