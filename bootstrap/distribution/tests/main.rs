//! Images of a registry that wants a password, fails, and lies.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod challenge;
mod credentials;
mod hosts;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bundle::{Digest, IMAGE_INDEX, IMAGE_MANIFEST};
use distribution::{Client, Credentials, Hosts, Pace, limits};
use machinery::clock::Clock;
use net::Proxies;
use parking_lot::Mutex;
use serde_json::json;
use test_proxy::Proxy;
use test_registry::{Registry, config, image};

const LAYER: &[u8] = &[7; 300_000];

/// A registry with the image `team/provider:v1`.
async fn registry() -> Registry {
    let registry = Registry::start().await.unwrap();
    registry.with(|state| image(state, "team/provider:v1", &config(&[LAYER], None), &[LAYER]));
    registry
}

fn client(hosts: Option<PathBuf>) -> Client {
    Client::new(Hosts::new(hosts), Clock::system())
}

fn login(registry: &Registry, password: &str) -> Credentials {
    let config = json!({"auths": {registry.name(): {"username": "user", "password": password}}});
    Credentials::of_docker_config(config.to_string().as_bytes()).unwrap()
}

/// Finds the image and fetches its layer; the error is its whole text.
async fn pull(client: &Client, repository: &str, credentials: &Credentials) -> Result<Vec<u8>, String> {
    let folder = tempfile::tempdir().unwrap();
    let pulled = async {
        let session = client.session(repository, credentials)?;
        let image = session.image(Some("v1"), None).await?;
        let path = folder.path().join("layer");
        session.download(&image.layers[0], &path).await?;
        Ok(std::fs::read(&path)?)
    };
    pulled.await.map_err(|error: anyhow::Error| format!("{error:#}"))
}

#[tokio::test]
async fn a_download_goes_on_where_it_was_cut_off() {
    let registry = registry().await;
    registry.with(|state| (state.cut_off, state.unavailable) = (2, 1));
    let repository = format!("{}/team/provider", registry.name());
    let found = pull(&client(None), &repository, &Credentials::default()).await;
    assert_eq!(found.unwrap(), LAYER);
    let resumed = registry.with(|state| state.asked.iter().filter(|path| path.contains("bytes=")).count());
    assert!(resumed >= 1, "{:?}", registry.with(|state| state.asked.clone()));
}

#[tokio::test]
async fn a_password_is_shown_for_a_token() {
    let registry = registry().await;
    registry.with(|state| state.password = Some("sesame".to_owned()));
    let repository = format!("{}/team/provider", registry.name());
    let client = client(None);
    assert_eq!(pull(&client, &repository, &login(&registry, "sesame")).await.unwrap(), LAYER);
    assert_eq!(registry.with(|state| state.count("/token")), 1, "one token is enough");
    for credentials in [Credentials::default(), login(&registry, "wrong")] {
        let error = pull(&client, &repository, &credentials).await.unwrap_err();
        assert!(error.contains("401 Unauthorized"), "{error}");
        assert!(!error.contains("sesame") && !error.contains("dXNlcj"), "{error}");
    }
}

#[tokio::test]
async fn mirrors_are_asked_first_and_see_no_password() {
    let (mirror, registry) = (registry().await, registry().await);
    registry.with(|state| state.password = Some("sesame".to_owned()));
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join(registry.name());
    std::fs::create_dir(&own).unwrap();
    let text = format!("server = \"http://{}\"\n[host.\"http://{}\"]\n", registry.name(), mirror.name());
    std::fs::write(own.join("hosts.toml"), text).unwrap();
    let client = client(Some(folder.path().to_owned()));
    let (repository, login) = (format!("{}/team/provider", registry.name()), login(&registry, "sesame"));
    assert_eq!(pull(&client, &repository, &login).await.unwrap(), LAYER);
    assert_eq!(registry.with(|state| state.asked.len()), 0);
    let named = registry.name();
    assert!(mirror.with(|state| state.asked.iter().all(|path| path.contains(&format!("ns={named}")))));
    // A mirror that wants a password gets none, and the registry itself is asked.
    mirror.with(|state| state.password = Some("other".to_owned()));
    assert_eq!(pull(&client, &repository, &login).await.unwrap(), LAYER);
    assert!(registry.with(|state| state.count("/blobs/")) > 0);
}

#[tokio::test]
async fn a_redirect_sees_no_credentials() {
    let (store, registry) = (registry().await, registry().await);
    registry.with(|state| {
        (state.password, state.blobs_at) = (Some("sesame".to_owned()), Some(store.name()));
    });
    let repository = format!("{}/team/provider", registry.name());
    let found = pull(&client(None), &repository, &login(&registry, "sesame")).await;
    assert_eq!(found.unwrap(), LAYER);
    assert!(store.with(|state| state.count("/blobs/") > 0 && state.authorized == 0));
    assert!(registry.with(|state| state.authorized) > 0);
}

#[tokio::test]
async fn an_index_has_the_image_for_this_machine() {
    let registry = registry().await;
    let name = registry.name();
    let manifest = registry.with(|state| state.tags["team/provider:v1"]);
    let size = registry.with(|state| state.content[&manifest].1.len());
    let own = if cfg!(target_arch = "x86_64") { "amd64" } else { "arm64" };
    let child = |architecture: &str, digest: &Digest| {
        json!({
            "mediaType": IMAGE_MANIFEST, "digest": digest, "size": size,
            "platform": {"os": "linux", "architecture": architecture},
        })
    };
    let index = |children: Vec<serde_json::Value>| {
        json!({"schemaVersion": 2, "mediaType": IMAGE_INDEX, "manifests": children}).to_string()
    };
    let other = Digest::of(b"other");
    let both = registry.with(|state| {
        let both = index(vec![child("riscv64", &other), child(own, &manifest)]);
        state.manifest("team/provider:foreign", IMAGE_INDEX, index(vec![child("riscv64", &other)]));
        state.manifest("team/provider:both", IMAGE_INDEX, both)
    });
    let (client, credentials) = (client(None), Credentials::default());
    let repository = format!("{name}/team/provider");
    let session = client.session(&repository, &credentials).unwrap();
    for (tag, digest) in [(Some("both"), None), (None, Some(both)), (None, Some(manifest))] {
        assert_eq!(session.image(tag, digest.as_ref()).await.unwrap().manifest, manifest);
    }
    for (tag, expected) in
        [("foreign", "but for linux/riscv64"), ("absent", "404 Not Found: manifest unknown")]
    {
        let error = format!("{:#}", session.image(Some(tag), None).await.unwrap_err());
        assert!(error.contains(expected), "{error}");
    }
    let mut tags = session.tags().await.unwrap();
    tags.sort();
    assert_eq!(tags, ["both", "foreign", "v1"]);
}

#[tokio::test]
async fn damaged_content_is_refused() {
    let registry = registry().await;
    let repository = format!("{}/team/provider", registry.name());
    registry.with(|state| {
        let damaged = state.content.get_mut(&Digest::of(LAYER)).unwrap();
        damaged.1 = vec![8; LAYER.len()].into();
    });
    let error = pull(&client(None), &repository, &Credentials::default()).await.unwrap_err();
    assert!(error.contains(&Digest::of(LAYER).to_string()) && error.contains("it is damaged"), "{error}");
}

#[tokio::test]
async fn a_registry_that_drips_is_given_up() {
    let registry = registry().await;
    let repository = format!("{}/team/provider", registry.name());
    let pace = Pace { bytes: 500, period: Duration::from_millis(100) };
    let client = client(None).with_pace(pace);
    let manifest = registry.with(|state| state.tags["team/provider:v1"]);
    for slow in [Digest::of(LAYER), manifest] {
        registry.with(|state| (state.drips = [slow].into(), state.asked.clear()));
        let error = pull(&client, &repository, &Credentials::default()).await.unwrap_err();
        assert!(
            error.contains("is too slow") && error.contains(&format!("{}/v2/team/provider", registry.name())),
            "{error}"
        );
    }
    // The same registry is fast enough for a client that accepts one byte in each period.
    registry.with(|state| state.drips = [manifest].into());
    let pace = Pace { bytes: 1, ..pace };
    assert!(pull(&client.with_pace(pace), &repository, &Credentials::default()).await.is_ok());
}

#[tokio::test]
async fn one_place_tries_again() {
    let registry = registry().await;
    let repository = format!("{}/team/provider", registry.name());
    let client = client(None);
    let tries = usize::try_from(limits::TRIES).unwrap();
    for (unavailable, path, is_there) in [(tries - 1, "/manifests/", true), (tries, "/manifests/", false)] {
        registry.with(|state| (state.unavailable = unavailable, state.asked.clear()));
        let found = pull(&client, &repository, &Credentials::default()).await;
        assert_eq!(found.is_ok(), is_there, "{unavailable}: {found:?}");
        assert_eq!(registry.with(|state| state.count(path)), tries);
    }
    // What a registry does not have is not asked for again.
    registry.with(|state| {
        (state.unavailable, _) = (0, state.content.remove(&Digest::of(LAYER)));
        state.asked.clear();
    });
    let error = pull(&client, &repository, &Credentials::default()).await.unwrap_err();
    assert!(error.contains("404 Not Found: blob unknown"), "{error}");
    assert_eq!(registry.with(|state| state.count(&Digest::of(LAYER).to_string())), 1);
}

#[tokio::test]
async fn registries_are_reached_through_a_proxy() {
    let registry = registry().await;
    registry.with(|state| state.password = Some("sesame".to_owned()));
    let address = registry.name().parse().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("far.invalid");
    std::fs::create_dir(&own).unwrap();
    std::fs::write(own.join("hosts.toml"), "server = \"http://far.invalid:5000\"\n").unwrap();
    let config = json!({"auths": {"far.invalid": {"username": "user", "password": "sesame"}}});
    let login = Credentials::of_docker_config(config.to_string().as_bytes()).unwrap();
    for (proxy, scheme) in [(Proxy::http().await.unwrap(), "http"), (Proxy::socks().await.unwrap(), "socks5")]
    {
        proxy.knows("far.invalid:5000", address);
        proxy.knows(&registry.name(), address);
        proxy.with(|state| state.credentials = Some(("me".to_owned(), "word".to_owned())));
        let client = |credentials: &str| {
            let url = format!("{scheme}://{credentials}{}", proxy.address());
            client(Some(folder.path().to_owned())).with_proxies(Arc::new(Proxies::fixed("HTTP_PROXY", &url)))
        };
        assert_eq!(pull(&client("me:word@"), "far.invalid/team/provider", &login).await.unwrap(), LAYER);
        assert!(proxy.asked().iter().any(|line| line.contains("far.invalid:5000")), "{:?}", proxy.asked());
        let before = proxy.asked().len();
        let error = pull(&client(""), "far.invalid/team/provider", &login).await.unwrap_err();
        assert!(error.contains("wants credentials"), "{error}");
        let tries = proxy.asked().len() - before;
        assert!(tries <= 1, "credentials that are wrong are wrong the next time, too: {tries}");
    }
}

#[tokio::test]
async fn each_further_attempt_is_told() {
    let registry = registry().await;
    registry.with(|state| state.unavailable = 2);
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let written = lines.clone();
    let client = client(None).with_report(Arc::new(move |line| written.lock().push(line.to_owned())));
    let repository = format!("{}/team/provider", registry.name());
    pull(&client, &repository, &Credentials::default()).await.unwrap();
    let lines = lines.lock().clone();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(
        lines[0].contains("503 Service Unavailable: later; attempt 2 of 5 follows in 200ms"),
        "{lines:?}"
    );
}
