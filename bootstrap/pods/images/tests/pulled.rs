//! Images that come from a registry.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bundle::Digest;
use container_images::{Client, Credentials, Hosts, Name, Policy, Registries, Store, Unpacked, limits};
use machinery::clock::Clock;
use serde_json::Value;
use test_registry::{Registry, config, image};
use tokio::task::JoinHandle;

use super::archives::{Entry, layer};

fn registries() -> Registries {
    Registries::new(Client::new(Hosts::default(), Clock::system()))
}

fn put(registry: &Registry, tag: &str, content: &str, architecture: Option<&str>) {
    let layers = [layer(&[Entry::File("manager", content)])];
    let layers: Vec<&[u8]> = layers.iter().map(Vec::as_slice).collect();
    registry.with(|state| image(state, &format!("provider:{tag}"), &config(&layers, architecture), &layers));
}

/// Pulls the image with this tag, and returns what its program is; the error is its whole text.
async fn pull(folder: &Path, registry: &Registry, tag: &str, policy: Policy) -> Result<String, String> {
    let name: Name = format!("{}/provider:{tag}", registry.name()).parse().unwrap();
    let store = Store::open(folder).unwrap();
    let pulled = registries().pull(&store, &name, policy, &Credentials::default()).await;
    pulled
        .map(|unpacked| fs::read_to_string(unpacked.root.join("manager")).unwrap())
        .map_err(|error| format!("{error:#}"))
}

#[tokio::test]
async fn an_image_is_pulled_once_and_asked_for_by_its_policy() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::start().await.unwrap();
    put(&registry, "v1", "one", None);
    let asked = || registry.with(|state| state.asked.len());
    assert_eq!(pull(folder.path(), &registry, "v1", Policy::IfNotPresent).await.unwrap(), "one");
    assert!(!folder.path().join("blobs").exists());
    let first = asked();
    assert_eq!(pull(folder.path(), &registry, "v1", Policy::IfNotPresent).await.unwrap(), "one");
    assert_eq!(asked(), first, "another process knows the image, too");
    let layers = registry.with(|state| state.count("/blobs/"));
    assert_eq!(pull(folder.path(), &registry, "v1", Policy::Always).await.unwrap(), "one");
    assert_eq!(registry.with(|state| state.count("/blobs/")), layers + 1, "only the config");
    put(&registry, "v1", "two", None);
    assert_eq!(pull(folder.path(), &registry, "v1", Policy::IfNotPresent).await.unwrap(), "one");
    assert_eq!(pull(folder.path(), &registry, "v1", Policy::Always).await.unwrap(), "two");
}

#[tokio::test]
async fn an_image_of_another_architecture_is_not_fetched() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::start().await.unwrap();
    put(&registry, "v1", "one", Some("riscv64"));
    let error = pull(folder.path(), &registry, "v1", Policy::Always).await.unwrap_err();
    assert!(error.contains("it is an image for linux/riscv64"), "{error}");
    assert_eq!(registry.with(|state| state.count("/blobs/")), 1, "only the config");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// What a disk that lost power may have of a file that was not on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Damage {
    Zeros,
    Empty,
    Half,
    OneBit,
    Gone,
}

impl Damage {
    const ALL: [Self; 5] = [Self::Zeros, Self::Empty, Self::Half, Self::OneBit, Self::Gone];

    fn apply(self, path: &Path) {
        let mut content = fs::read(path).unwrap();
        match self {
            Self::Zeros => content.fill(0),
            Self::Empty => content.clear(),
            Self::Half => content.truncate(content.len() / 2),
            Self::OneBit => content[0] ^= 1,
            Self::Gone => return fs::remove_file(path).unwrap(),
        }
        fs::write(path, content).unwrap();
    }
}

/// Returns all files in a folder and below it.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = entries.map(|path| if path.is_dir() { files_below(&path) } else { vec![path] });
    let mut files: Vec<PathBuf> = below.flatten().collect();
    files.sort();
    files
}

#[tokio::test]
async fn whichever_file_of_a_pulled_image_is_damaged_the_next_process_mends_it() {
    let registry = Registry::start().await.unwrap();
    put(&registry, "v1", "one", None);
    let first = tempfile::tempdir().unwrap();
    pull(first.path(), &registry, "v1", Policy::IfNotPresent).await.unwrap();
    let names: Vec<PathBuf> = files_below(first.path());
    assert_eq!(names.len(), 3, "the program, its sum, and the name: {names:?}");
    for name in names {
        for (damage, policy) in Damage::ALL
            .iter()
            .flat_map(|damage| [Policy::IfNotPresent, Policy::Always].map(|policy| (*damage, policy)))
        {
            let folder = tempfile::tempdir().unwrap();
            pull(folder.path(), &registry, "v1", Policy::IfNotPresent).await.unwrap();
            damage.apply(&folder.path().join(name.strip_prefix(first.path()).unwrap()));
            let again = pull(folder.path(), &registry, "v1", policy).await;
            assert_eq!(again.as_deref(), Ok("one"), "{} {damage:?} {policy:?}", name.display());
            let (left, right) = (files_below(folder.path()), files_below(first.path()));
            assert_eq!(left.len(), right.len(), "{left:?}");
        }
    }
}

/// What an interrupted pull leaves: a layer with its name, or what had come of it.
#[tokio::test]
async fn a_damaged_layer_is_fetched_again() {
    let registry = Registry::start().await.unwrap();
    put(&registry, "v1", "one", None);
    let content = layer(&[Entry::File("manager", "one")]);
    let name: Name = format!("{}/provider:v1", registry.name()).parse().unwrap();
    for ending in ["", ".part"] {
        for damage in Damage::ALL.into_iter().filter(|damage| *damage != Damage::Gone) {
            let folder = tempfile::tempdir().unwrap();
            let blobs = folder.path().join("blobs").join(Digest::of(name.to_string().as_bytes()).hex());
            fs::create_dir_all(&blobs).unwrap();
            let path = blobs.join(format!("{}{ending}", Digest::of(&content).hex()));
            fs::write(&path, &content).unwrap();
            damage.apply(&path);
            let pulled = pull(folder.path(), &registry, "v1", Policy::IfNotPresent).await;
            assert_eq!(pulled.as_deref(), Ok("one"), "{ending} {damage:?}");
            assert!(!blobs.exists());
        }
    }
}

/// The filesystem of an image that an earlier version unpacked has no sum yet, and its registry may be gone.
#[tokio::test]
async fn what_an_earlier_version_unpacked_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::start().await.unwrap();
    put(&registry, "v1", "one", None);
    pull(folder.path(), &registry, "v1", Policy::IfNotPresent).await.unwrap();
    fs::remove_dir_all(folder.path().join("sums")).unwrap();
    let asked = registry.with(|state| state.asked.len());
    assert_eq!(pull(folder.path(), &registry, "v1", Policy::IfNotPresent).await.unwrap(), "one");
    assert_eq!(registry.with(|state| state.asked.len()), asked);
    assert!(folder.path().join("sums").exists());
}

/// What the registry sends something else for.
#[derive(Debug)]
enum Instead {
    Manifest,
    Config,
    Layer,
}

#[tokio::test]
async fn what_a_registry_sends_is_verified() {
    for (instead, size_is_same, expected) in [
        (Instead::Manifest, true, "digest"),
        (Instead::Manifest, false, "digest"),
        (Instead::Config, true, "digest"),
        (Instead::Config, false, "bytes"),
        (Instead::Layer, true, "digest"),
        (Instead::Layer, false, "bytes"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let registry = Registry::start().await.unwrap();
        put(&registry, "v1", "one", None);
        let manifest = registry.with(|state| state.tags["provider:v1"]);
        registry.with(|state| {
            let text: Value = serde_json::from_slice(&state.content[&manifest].1).unwrap();
            let digest = |value: &Value| value["digest"].as_str().unwrap().parse().unwrap();
            let which = match &instead {
                Instead::Manifest => manifest,
                Instead::Config => digest(&text["config"]),
                Instead::Layer => digest(&text["layers"][0]),
            };
            let (kind, content) = state.content[&which].clone();
            let size = if size_is_same { content.len() } else { content.len() + 1 };
            state.content.insert(which, (kind, vec![b' '; size].into()));
        });
        let name: Name = format!("{}/provider@{manifest}", registry.name()).parse().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let pulled = registries().pull(&store, &name, Policy::Always, &Credentials::default()).await;
        let error = format!("{:#}", pulled.unwrap_err());
        assert!(error.contains(expected), "{instead:?}: {error}");
        let left = fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.file_name());
        assert!(left.into_iter().all(|name| name == "blobs"), "{instead:?}");
    }
}

/// Registries whose pulls run at the same time.
struct Machine {
    folder: tempfile::TempDir,
    store: Store,
    registries: Arc<Registries>,
    registry: Registry,
}

impl Machine {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let registry = Registry::start().await.unwrap();
        Self { folder, store, registries: Arc::new(registries()), registry }
    }

    /// Puts an image into the registry, whose layer drips or not, and returns the digest of the layer.
    fn put(&self, tag: &str, drips: bool) -> Digest {
        put(&self.registry, tag, tag, None);
        let digest = Digest::of(&layer(&[Entry::File("manager", tag)]));
        if drips {
            self.registry.with(|state| state.drips.insert(digest));
        }
        digest
    }

    fn pull(&self, tag: &str) -> JoinHandle<anyhow::Result<Unpacked>> {
        let (store, registries) = (self.store.clone(), self.registries.clone());
        let name: Name = format!("{}/provider:{tag}", self.registry.name()).parse().unwrap();
        tokio::spawn(async move {
            registries.pull(&store, &name, Policy::IfNotPresent, &Credentials::default()).await
        })
    }

    /// Waits until the registry was asked for something.
    async fn until_asked(&self, text: &str) {
        let asked = async {
            while self.registry.with(|state| state.count(text)) == 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), asked).await.unwrap();
    }
}

#[tokio::test]
async fn an_image_is_pulled_once_for_all_who_want_it() {
    let machine = Machine::start().await;
    let slow = machine.put("v1", true);
    let first = machine.pull("v1");
    machine.until_asked(&slow.to_string()).await;
    let (second, third) = (machine.pull("v1"), machine.pull("v1"));
    machine.registry.with(|state| state.drips.clear());
    // The first goes away, and another one goes on with what it has received.
    first.abort();
    for pull in [second, third] {
        assert!(pull.await.unwrap().unwrap().root.join("manager").exists());
    }
    assert_eq!(machine.registry.with(|state| state.count(&slow.to_string())), 2);
    assert_eq!(machine.registry.with(|state| state.count("/manifests/")), 2);
    assert!(!machine.folder.path().join("blobs").exists());
}

#[tokio::test]
async fn slow_pulls_leave_the_others_their_turn() {
    let machine = Machine::start().await;
    let mut slow = Vec::new();
    for at in 1..limits::PULLS {
        let digest = machine.put(&format!("slow{at}"), true);
        slow.push(machine.pull(&format!("slow{at}")));
        machine.until_asked(&digest.to_string()).await;
    }
    machine.put("fast", false);
    assert!(machine.pull("fast").await.unwrap().is_ok());
    // With one more, all turns are taken, until one of them is given up.
    let digest = machine.put("last", true);
    slow.push(machine.pull("last"));
    machine.until_asked(&digest.to_string()).await;
    machine.put("waits", false);
    let waits = machine.pull("waits");
    let asked = machine.until_asked("/manifests/waits");
    assert!(tokio::time::timeout(Duration::from_millis(300), asked).await.is_err());
    slow.remove(0).abort();
    assert!(waits.await.unwrap().is_ok());
    slow.iter().for_each(JoinHandle::abort);
}

#[tokio::test]
async fn a_pull_has_a_longest_time_and_loses_nothing_by_it() {
    let mut machine = Machine::start().await;
    machine.registries = Arc::new(registries().with_longest(Duration::from_millis(500)));
    let slow = machine.put("v1", true);
    let error = format!("{:#}", machine.pull("v1").await.unwrap().unwrap_err());
    let expected = format!("{}/provider did not come within 500ms", machine.registry.name());
    assert!(error.contains(&expected), "{error}");
    machine.registry.with(|state| (state.drips.clear(), state.asked.clear()));
    assert!(machine.pull("v1").await.unwrap().is_ok());
    assert!(machine.registry.with(|state| state.asked.iter().any(|path| path.contains("bytes="))));
    assert_eq!(machine.registry.with(|state| state.count(&slow.to_string())), 1);
}

#[tokio::test]
async fn one_image_under_two_names_is_unpacked_once() {
    let machine = Machine::start().await;
    put(&machine.registry, "v1", "one", None);
    put(&machine.registry, "latest", "one", None);
    let (one, two) = (machine.pull("v1"), machine.pull("latest"));
    let (one, two) = (one.await.unwrap().unwrap(), two.await.unwrap().unwrap());
    assert_eq!(one.root, two.root);
}
