//! The object, its Secret, its ConfigMap and `init` come in any order, and everything ends the same.

use std::sync::Arc;

use clusterctl::configuration::{Configuration, Environment};
use clusterctl::install::{Chosen, Options, Tools, init};
use clusterctl::repository::Fetcher;
use machinery::clock::Clock;
use schemas::operator::InfrastructureProvider;
use serde_json::{Value, json};
use test_plane::{Fixture, get};

use crate::operator::support::garden::{self, NAME, TOKEN, declare, installed, publish, variables};
use crate::operator::support::{Web, fixture, has};

/// Runs `init` with the same files from a folder.
async fn initialize(fixture: &Fixture) {
    let folder = tempfile::tempdir().unwrap();
    let release = folder.path().join("infrastructure-garden/v0.3.0");
    std::fs::create_dir_all(&release).unwrap();
    let components = release.join("infrastructure-components.yaml");
    std::fs::write(&components, garden::components("v0.3.0")).unwrap();
    std::fs::write(release.join("metadata.yaml"), garden::metadata()).unwrap();
    let settings = folder.path().join("clusterctl.yaml");
    let providers = json!([{"name": NAME, "type": "InfrastructureProvider", "url": components}]);
    std::fs::write(&settings, json!({"GARDEN_TOKEN": TOKEN, "providers": providers}).to_string()).unwrap();
    let clock = Clock::system();
    let configuration = Configuration::load(settings.to_str(), Environment::fixed([]), &Web).await.unwrap();
    let fetcher = Fetcher::new(Arc::new(Web), clock.clone());
    let (client, say) = (fixture.user(), |_: &str| ());
    let tools =
        Tools { client: &client, configuration: &configuration, fetcher: &fetcher, clock: &clock, say: &say };
    let chosen = Chosen { infrastructure: vec![format!("{NAME}:v0.3.0")], ..Chosen::default() };
    let how = Options { namespace: Some("default".to_owned()), validate: true, wait: None };
    init(chosen, &how, &tools).await.unwrap();
}

async fn step(fixture: &Fixture, name: &str) {
    match name {
        "object" => declare(fixture, Some("v0.3.0"), json!({})).await,
        "secret" => variables(fixture).await,
        "files" => publish(fixture, "v0.3.0").await,
        _ => initialize(fixture).await,
    }
}

#[tokio::test(start_paused = true)]
async fn every_order_ends_the_same() {
    let mut expected: Option<Value> = None;
    for order in [
        ["init", "secret", "files", "object"],
        ["object", "secret", "files", "init"],
        ["object", "init", "secret", "files"],
        ["secret", "object", "init", "files"],
        ["files", "object", "init", "secret"],
        ["secret", "files", "object", "init"],
    ] {
        let fixture = fixture().await;
        for name in order {
            step(&fixture, name).await;
        }
        fixture.until(&format!("{order:?}: it is installed"), |manager| has(manager, "v0.3.0")).await;
        let found = installed(&fixture).await;
        assert_eq!(*expected.get_or_insert_with(|| found.clone()), found, "{order:?}");
        fixture.delete::<InfrastructureProvider>(NAME).await;
        let is_gone = |manager: &_| get::<InfrastructureProvider>(manager, NAME).is_none();
        fixture.until(&format!("{order:?}: it is gone"), is_gone).await;
        assert!(garden::deployment(&fixture).await.is_none(), "{order:?}");
    }
}
