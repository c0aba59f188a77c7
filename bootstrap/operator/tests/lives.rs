//! The life of a declared provider: what it waits for, what it becomes, and what it leaves behind.

use schemas::operator::{BootstrapProvider, CoreProvider, IPAMProvider, InfrastructureProvider};
use serde_json::json;
use test_plane::get;

use crate::operator::support::garden::{
    self, NAME, TOKEN, components, declare, deployment, publish, variables,
};
use crate::operator::support::{
    condition, fixture, fixture_with_garden, fixture_with_listed_garden, has, read, says,
};

#[tokio::test(start_paused = true)]
async fn it_waits_for_its_secret_and_its_files() {
    let fixture = fixture().await;
    declare(&fixture, Some("v0.3.0"), json!({})).await;
    let waits = "the Secret default/variables of spec.configSecret does not exist";
    let is_waiting =
        |manager: &_| says(manager, "PreflightCheckPassed", "False", "ConfigSecretNotFound", waits);
    fixture.until("it waits for the Secret", is_waiting).await;
    variables(&fixture).await;
    let is_waiting =
        |manager: &_| says(manager, "ProviderInstalled", "False", "ComponentsFetchError", "no ConfigMap");
    fixture.until("it waits for the ConfigMap", is_waiting).await;
    publish(&fixture, "v0.3.0").await;
    fixture.until("it is installed", |manager| has(manager, "v0.3.0")).await;
    let garden = fixture.get::<InfrastructureProvider>(NAME).unwrap();
    assert_eq!(garden.status.as_ref().unwrap().contract.as_deref(), Some("v1beta1"));
    assert_eq!(garden.metadata.finalizers.as_deref(), Some(&["provider.cluster.x-k8s.io".to_owned()][..]));
    let secret = read(&fixture, "/api/v1/namespaces/default/secrets/garden-credentials").await.unwrap();
    assert_eq!(secret["data"]["token"], "bW9zcy1hbmQtZmVybg==");
    let namespace = read(&fixture, "/api/v1/namespaces/default").await.unwrap();
    assert_eq!(namespace["metadata"]["labels"]["cluster.x-k8s.io/provider"], "infrastructure-garden");

    // Changed variables are applied.
    fixture
        .patch::<k8s_openapi::api::core::v1::Secret>(
            "variables",
            json!({"stringData": {"GARDEN_TOKEN": "clay"}}),
        )
        .await;
    let path = "/api/v1/namespaces/default/secrets/garden-credentials";
    let mut token = json!(null);
    while token != "Y2xheQ==" {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        token = read(&fixture, path).await.unwrap()["data"]["token"].clone();
    }
    // A Deployment that somebody deletes comes back.
    fixture.delete::<k8s_openapi::api::apps::v1::Deployment>("garden-controller-manager").await;
    while deployment(&fixture).await.is_none() {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_installed_says_why() {
    let fixture = fixture().await;
    variables(&fixture).await;
    publish(&fixture, "v0.3.0").await;
    garden::publish_with(
        &fixture,
        "v0.3.1",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: \"${ONE} ${TWO}\"}\n",
    )
    .await;
    let refused = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: a}}\ntype: {TOKEN}\ndata: {{a: \"${{GARDEN_TOKEN}}\"}}\n"
    );
    garden::publish_with(&fixture, "v0.3.2", &refused).await;
    publish(&fixture, "v0.2.0").await;
    publish(&fixture, "v0.9.0").await;
    declare(&fixture, Some("latest"), json!({})).await;
    let both =
        json!({"url": "https://github.com/a/b/releases", "selector": {"matchLabels": {"files": NAME}}});
    for (patch, type_, reason, text) in [
        (json!({}), "PreflightCheckPassed", "IncorrectVersionFormat", "\"latest\" is not a semantic version"),
        (json!({"version": "v0.3.1"}), "ProviderInstalled", "ComponentsFetchError", "[ONE, TWO] is not set"),
        (json!({"version": "v0.3.7"}), "ProviderInstalled", "ComponentsFetchError", "v0.3.7"),
        (json!({"version": "v0.2.0"}), "ProviderInstalled", "CAPIVersionIncompatibility", "v1alpha4"),
        (
            json!({"version": "v0.9.0"}),
            "ProviderInstalled",
            "CAPIVersionIncompatibility",
            "any release series",
        ),
        (json!({"version": "v0.3.2"}), "ProviderInstalled", "InstallFailed", "Secret"),
        (
            json!({"version": "v0.3.0", "manifestPatches": ["a: b"]}),
            "ProviderInstalled",
            "ComponentsPatchError",
            "has no kind",
        ),
        (
            json!({"manifestPatches": null, "fetchConfig": both}),
            "PreflightCheckPassed",
            "FetchConfigValidationError",
            "Only one of",
        ),
        (
            json!({"fetchConfig": null}),
            "PreflightCheckPassed",
            "FetchConfigValidationError",
            "knows infrastructure-garden",
        ),
    ] {
        fixture.patch::<InfrastructureProvider>(NAME, json!({"spec": patch})).await;
        fixture
            .until(&format!("{patch}: {text}"), |manager| says(manager, type_, "False", reason, text))
            .await;
        let said = condition(&fixture.manager, type_).unwrap().message;
        assert!(!said.contains(TOKEN), "{said}");
    }
    assert!(deployment(&fixture).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_failed_upgrade_is_undone_and_not_repeated() {
    let fixture = fixture().await;
    variables(&fixture).await;
    publish(&fixture, "v0.3.0").await;
    declare(&fixture, None, json!({})).await;
    fixture.until("the newest version is installed", |manager| has(manager, "v0.3.0")).await;
    let image = async || {
        deployment(&fixture).await.unwrap()["spec"]["template"]["spec"]["containers"][0]["image"].clone()
    };
    garden::publish_with(
        &fixture,
        "v0.4.0",
        &components("v0.4.0").replace("example/garden", "example/broken"),
    )
    .await;
    fixture.until("without a version, it stays", |manager| has(manager, "v0.3.0")).await;
    fixture.patch::<InfrastructureProvider>(NAME, json!({"spec": {"version": "v0.4.0"}})).await;
    let is_undone =
        |manager: &_| says(manager, "ProviderUpgraded", "False", "ComponentsUpgradeError", "was undone");
    fixture.until("the upgrade is undone", is_undone).await;
    fixture
        .until("the old version runs", |manager| says(manager, "Ready", "True", "DeploymentsAvailable", ""))
        .await;
    assert_eq!(image().await, "registry.example/garden:v0.3.0");
    let writes = fixture.requests.writes();
    tokio::time::sleep(std::time::Duration::from_secs(1300)).await;
    assert_eq!(
        fixture.requests.writes(),
        writes,
        "{:?}",
        &fixture.requests.trace()[usize::try_from(writes).unwrap()..]
    );

    // Wanted no more, the failure is forgotten, and the same version is tried again.
    fixture.patch::<InfrastructureProvider>(NAME, json!({"spec": {"version": null}})).await;
    let is_forgotten =
        |manager: &_| has(manager, "v0.3.0") && condition(manager, "ProviderUpgraded").is_none();
    fixture.until("the old version is all", is_forgotten).await;
    fixture.patch::<InfrastructureProvider>(NAME, json!({"spec": {"version": "v0.4.0"}})).await;
    fixture.until("it is undone again", is_undone).await;

    publish(&fixture, "v0.4.1").await;
    fixture.patch::<InfrastructureProvider>(NAME, json!({"spec": {"version": "v0.4.1"}})).await;
    fixture.until("another version is installed", |manager| has(manager, "v0.4.1")).await;
    assert_eq!(image().await, "registry.example/garden:v0.4.1");
    assert!(says(&fixture.manager, "ProviderUpgraded", "True", "ProviderUpgraded", ""));
    fixture.patch::<InfrastructureProvider>(NAME, json!({"spec": {"version": "v0.3.0"}})).await;
    let is_refused = |manager: &_| {
        says(manager, "PreflightCheckPassed", "False", "UnsupportedProviderDowngradeReason", "v0.4.1")
    };
    fixture.until("a downgrade is refused", is_refused).await;
}

#[tokio::test(start_paused = true)]
async fn of_two_objects_the_first_counts() {
    let fixture = fixture().await;
    variables(&fixture).await;
    publish(&fixture, "v0.3.0").await;
    fixture.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})).await;
    declare(&fixture, Some("v0.3.0"), json!({})).await;
    fixture.until("the first is installed", |manager| has(manager, "v0.3.0")).await;
    garden::declare_in(&fixture, "other", Some("v0.3.0"), json!({"configSecret": null})).await;
    let second = engine::NamespacedName::new("other", NAME);
    let reason = |manager: &engine::Manager| {
        let second = manager.objects::<InfrastructureProvider>().get(&second)?;
        let all = second.status.clone()?.conditions;
        all.into_iter()
            .find(|condition| condition.type_ == "PreflightCheckPassed")
            .map(|condition| condition.reason)
    };
    fixture
        .until("the second is refused", |manager| reason(manager).as_deref() == Some("MoreThanOneExists"))
        .await;
    fixture.delete_in::<InfrastructureProvider>("other", NAME).await;
    let is_gone =
        |manager: &engine::Manager| manager.objects::<InfrastructureProvider>().get(&second).is_none();
    fixture.until("the second is gone", is_gone).await;
    assert!(deployment(&fixture).await.is_some(), "its deletion leaves what is the first one's");
}

#[tokio::test(start_paused = true)]
async fn what_runs_in_the_process_needs_no_installation() {
    let fixture = fixture().await;
    let declare = async |kind: &str, name: &str, version: &str| {
        fixture
            .create(json!({
                "apiVersion": "operator.cluster.x-k8s.io/v1alpha2", "kind": kind,
                "metadata": {"name": name}, "spec": {"version": version},
            }))
            .await
    };
    declare("CoreProvider", "cluster-api", "v1.14.0").await;
    declare("BootstrapProvider", "kubeadm", "v1.9.3").await;
    let message = |conditions: Vec<schemas::meta::Condition>| {
        conditions.into_iter().find(|one| one.type_ == "ProviderInstalled").map(|one| one.message)
    };
    let core = |manager: &_| message(get::<CoreProvider>(manager, "cluster-api")?.status.clone()?.conditions);
    let expected = "the controllers run in the process of this server";
    fixture.until("core is there", |manager| core(manager).as_deref() == Some(expected)).await;
    let kubeadm =
        |manager: &_| message(get::<BootstrapProvider>(manager, "kubeadm")?.status.clone()?.conditions);
    fixture
        .until("kubeadm is there", |manager| {
            kubeadm(manager).is_some_and(|said| said.contains("v1.14.0 instead of v1.9.3"))
        })
        .await;
    let status = fixture.get::<CoreProvider>("cluster-api").unwrap().status.clone().unwrap();
    assert_eq!(status.installed_version.as_deref(), Some("v1.14.0"));
    assert_eq!(status.contract.as_deref(), Some("v1beta2"));
    fixture.delete::<CoreProvider>("cluster-api").await;
    fixture
        .until("core's object is gone", |manager| get::<CoreProvider>(manager, "cluster-api").is_none())
        .await;
    let entry = "/apis/clusterctl.cluster.x-k8s.io/v1alpha3/namespaces/capi-system/providers/cluster-api";
    assert!(read(&fixture, entry).await.is_some());
    // What is not in the inventory from the start gets its entry.
    let entry = "/apis/clusterctl.cluster.x-k8s.io/v1alpha3/namespaces/caip-in-cluster-system/providers/ipam-in-cluster";
    assert!(read(&fixture, entry).await.is_none());
    declare("IPAMProvider", "in-cluster", "v1.14.0").await;
    let ipam = |manager: &_| message(get::<IPAMProvider>(manager, "in-cluster")?.status.clone()?.conditions);
    fixture.until("pools are there", |manager| ipam(manager).as_deref() == Some(expected)).await;
    assert_eq!(read(&fixture, entry).await.unwrap()["version"], "v1.14.0");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_names_a_source_installs_it_in_place_of_the_controllers_of_the_process() {
    let fixture = fixture_with_garden().await;
    variables(&fixture).await;
    publish(&fixture, "v0.3.0").await;
    fixture
        .create(json!({
            "apiVersion": "operator.cluster.x-k8s.io/v1alpha2", "kind": "InfrastructureProvider",
            "metadata": {"name": NAME}, "spec": {"version": "v1.14.0"},
        }))
        .await;
    let says_so = |manager: &_| {
        says(manager, "ProviderInstalled", "True", "RunsInServer", "in the process of this server")
    };
    fixture.until("its controllers run here", says_so).await;
    assert!(deployment(&fixture).await.is_none());
    fixture.delete::<InfrastructureProvider>(NAME).await;
    fixture
        .until("the object is gone", |manager| get::<InfrastructureProvider>(manager, NAME).is_none())
        .await;

    declare(&fixture, Some("v0.3.0"), json!({})).await;
    fixture.until("it is installed", |manager| has(manager, "v0.3.0")).await;
    assert!(deployment(&fixture).await.is_some());
    fixture.delete::<InfrastructureProvider>(NAME).await;
    fixture
        .until("the object is gone", |manager| get::<InfrastructureProvider>(manager, NAME).is_none())
        .await;
    assert!(deployment(&fixture).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_is_always_listed_is_replaced_in_any_namespace_and_comes_back() {
    let fixture = fixture_with_listed_garden().await;
    variables(&fixture).await;
    publish(&fixture, "v0.3.0").await;
    let version = async |namespace: &str| {
        let path = format!(
            "/apis/clusterctl.cluster.x-k8s.io/v1alpha3/namespaces/{namespace}/providers/infrastructure-garden"
        );
        read(&fixture, &path).await.map(|entry| entry["version"].as_str().unwrap().to_owned())
    };
    assert_eq!((version("listed").await.as_deref(), version("default").await), (Some("v1.14.0"), None));
    declare(&fixture, Some("v0.3.0"), json!({})).await;
    fixture.until("it is installed", |manager| has(manager, "v0.3.0")).await;
    assert_eq!((version("listed").await, version("default").await.as_deref()), (None, Some("v0.3.0")));
    fixture.delete::<InfrastructureProvider>(NAME).await;
    fixture
        .until("the object is gone", |manager| get::<InfrastructureProvider>(manager, NAME).is_none())
        .await;
    assert_eq!((version("listed").await.as_deref(), version("default").await), (Some("v1.14.0"), None));
}
