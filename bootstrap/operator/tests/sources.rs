//! Where the files of a provider come from.

use std::io::Write;

use base64::Engine;
use flate2::Compression;
use flate2::write::GzEncoder;
use schemas::operator::InfrastructureProvider;
use serde_json::json;
use test_registry::Registry;

use crate::operator::support::garden::{self, NAME, components, declare, deployment, variables};
use crate::operator::support::{fixture, has, says};

#[tokio::test(start_paused = true)]
async fn config_maps() {
    let fixture = fixture().await;
    variables(&fixture).await;
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(components("v0.3.0").as_bytes()).unwrap();
    let packed = base64::engine::general_purpose::STANDARD.encode(packed.finish().unwrap());
    let map = |name: &str, binary: &str| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": name, "labels": {"files": NAME, "provider.cluster.x-k8s.io/version": "v0.3.0"},
                "annotations": {"provider.cluster.x-k8s.io/compressed": "true"},
            },
            "data": {"metadata": garden::metadata()}, "binaryData": {"components": binary},
        })
    };
    fixture.create(map("packed", "AAAA")).await;
    let manifests = json!({"manifests": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\ndata: {token: \"${GARDEN_TOKEN}\"}\n"});
    declare(&fixture, None, json!({"additionalManifests": {"name": "additional"}})).await;
    let failed = |text: &'static str| {
        move |manager: &engine::Manager| {
            says(manager, "ProviderInstalled", "False", "ComponentsFetchError", text)
        }
    };
    fixture
        .until(
            "it is not compressed",
            failed("the components of ConfigMap default/packed cannot be decompressed"),
        )
        .await;
    fixture.create(map("again", &packed)).await;
    fixture
        .until("both have one version", failed("has the version v0.3.0 of another selected ConfigMap"))
        .await;
    fixture.delete::<k8s_openapi::api::core::v1::ConfigMap>("packed").await;
    fixture
        .until(
            "a ConfigMap is missing",
            failed("the ConfigMap default/additional of spec.additionalManifests does not exist"),
        )
        .await;
    fixture.create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "additional"}, "data": manifests})).await;
    fixture.until("it is installed", |manager| has(manager, "v0.3.0")).await;
    let more =
        crate::operator::support::read(&fixture, "/api/v1/namespaces/default/configmaps/more").await.unwrap();
    assert_eq!(more["data"]["token"], garden::TOKEN);
    assert_eq!(more["metadata"]["labels"]["cluster.x-k8s.io/provider"], "infrastructure-garden");
}

#[tokio::test(start_paused = true)]
async fn an_address() {
    let fixture = fixture().await;
    variables(&fixture).await;
    let fetched = |url: &str| json!({"fetchConfig": {"url": url}});
    let is_refused = |manager: &engine::Manager| {
        says(
            manager,
            "PreflightCheckPassed",
            "False",
            "FetchConfigValidationError",
            "must begin with https://",
        )
    };
    // The folders of the machine that the server runs on are not for everybody who may declare a provider.
    declare(&fixture, None, fetched("/etc/v0.3.0/passwd")).await;
    fixture.until("a folder is refused", is_refused).await;
    let patch = json!({"spec": fetched(&garden::address("v0.3.0"))});
    fixture.patch::<InfrastructureProvider>(NAME, patch).await;
    fixture.until("it is installed", |manager| has(manager, "v0.3.0")).await;
    let fetch = &fetched(&garden::address("v0.4.0"))["fetchConfig"];
    let patch = json!({"spec": {"version": "v0.4.0", "fetchConfig": fetch, "deployment": {"replicas": 0}}});
    fixture.patch::<InfrastructureProvider>(NAME, patch).await;
    fixture.until("it is upgraded", |manager| has(manager, "v0.4.0")).await;
    let found = deployment(&fixture).await.unwrap();
    assert_eq!(found["spec"]["replicas"], 0);
    assert_eq!(found["spec"]["template"]["spec"]["containers"][0]["image"], "registry.example/garden:v0.4.0");
}

// The registry answers over a real socket, so the clock is not paused.
#[tokio::test]
async fn an_artifact() {
    let registry = Registry::start().await.unwrap();
    registry.with(|state| {
        state.password = Some("sesame".to_owned());
        let files = [("metadata.yaml", garden::metadata()), ("components.yaml", components("v0.3.0"))];
        test_registry::files(state, "providers/garden:v0.3.0", files);
    });
    let fixture = fixture().await;
    variables(&fixture).await;
    let address = format!("{}/providers/garden", registry.name());
    declare(&fixture, Some("v0.3.0"), json!({"fetchConfig": {"oci": address}})).await;
    let is_refused = |manager: &engine::Manager| {
        says(manager, "ProviderInstalled", "False", "ComponentsFetchError", "providers/garden")
    };
    fixture.until("the registry wants a password", is_refused).await;
    let login = json!({"stringData": {"OCI_USERNAME": "user", "OCI_PASSWORD": "sesame"}});
    fixture.patch::<k8s_openapi::api::core::v1::Secret>("variables", login).await;
    fixture.until("it is installed", |manager| has(manager, "v0.3.0")).await;
}

#[tokio::test(start_paused = true)]
async fn no_object_names_a_folder_of_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let version = folder.path().join("infrastructure-garden/v0.3.0");
    std::fs::create_dir_all(&version).unwrap();
    let own = components("v0.3.0").replace("registry.example/garden", "folder.example/garden");
    std::fs::write(version.join("infrastructure-components.yaml"), own).unwrap();
    std::fs::write(version.join("metadata.yaml"), garden::metadata()).unwrap();
    let fixture = fixture().await;
    let url = format!("file://{}/infrastructure-components.yaml", version.display());
    declare(&fixture, Some("v0.3.0"), json!({"fetchConfig": {"url": url}, "configSecret": null})).await;
    let is_refused = |manager: &engine::Manager| {
        let text = "spec.fetchConfig.url must begin with https://";
        says(manager, "PreflightCheckPassed", "False", "FetchConfigValidationError", text)
    };
    fixture.until("the folder is refused", is_refused).await;
    let data = json!({"GARDEN_TOKEN": garden::TOKEN, "overridesFolder": folder.path()});
    let metadata = json!({"name": "variables"});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data});
    fixture.create(secret).await;
    let fetch = json!({"url": garden::address("v0.3.0")});
    let patch = json!({"spec": {"fetchConfig": fetch, "configSecret": {"name": "variables"}}});
    fixture.patch::<InfrastructureProvider>(NAME, patch).await;
    fixture.until("it is installed", |manager| has(manager, "v0.3.0")).await;
    let found = deployment(&fixture).await.unwrap();
    assert_eq!(found["spec"]["template"]["spec"]["containers"][0]["image"], "registry.example/garden:v0.3.0");
}
