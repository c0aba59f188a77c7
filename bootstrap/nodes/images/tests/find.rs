//! Where an image is looked for, in which order, and how often.

use std::fs;
use std::time::Duration;

use bundle::Digest;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change, mount_remount};
use system_containers::Images;
use test_registry::Registry;

use super::fixture::{Machine, config, layer, layout, node, pipe};

fn put(registry: &Registry, tag: &str) -> Digest {
    let layer = layer(&node());
    registry.with(|state| test_registry::image(state, &format!("node:{tag}"), &config(&layer), &[&layer]))
}

#[tokio::test]
async fn an_image_is_pulled_once_and_told() {
    let (machine, registry) = (Machine::new(), Registry::start().await.unwrap());
    let digest = put(&registry, "v1.36.3");
    let name = format!("{}/node:v1.36.3", registry.name());
    let image = machine.find(&name).await.unwrap();
    assert_eq!(image.kubernetes.as_deref(), Some("v1.36.3"));
    let told = machine.told();
    assert!(told[0].starts_with(&format!("pulling {name}: layer 1 of 1, ")), "{told:?}");
    assert!(told.len() <= 12 && told.last() == Some(&format!("unpacking {name}")), "{told:?}");
    let asked = registry.with(|state| state.asked.len());
    assert_eq!(machine.find(&name).await.unwrap(), image);
    assert_eq!(machine.again().find(&name, &|_| ()).await.unwrap(), image, "a later process");
    assert_eq!(registry.with(|state| state.asked.len()), asked);
    let exact = format!("{}/node@{digest}", registry.name());
    assert_eq!(machine.find(&exact).await.unwrap().id, image.id, "the same image by its digest");
}

#[tokio::test]
async fn all_who_want_an_image_share_one_pull() {
    let (machine, registry) = (Machine::new(), Registry::start().await.unwrap());
    put(&registry, "v1.36.3");
    registry.with(|state| state.cut_off = 1);
    let name = format!("{}/node:v1.36.3", registry.name());
    let all = futures::future::join_all((0..5).map(|_| machine.find(&name))).await;
    assert!(all.iter().all(|found| found == &all[0] && found.is_ok()), "{all:?}");
    assert_eq!(registry.with(|state| state.count("/manifests/")), 1);
}

#[tokio::test]
async fn what_is_on_this_machine_comes_first() {
    let (machine, registry) = (Machine::new(), Registry::start().await.unwrap());
    put(&registry, "v1.36.3");
    let name = format!("{}/node:v1.36.3", registry.name());
    let pulled = machine.find(&name).await.unwrap();
    let mut files = node();
    files.insert("etc/local", (0o644, b"yes".to_vec()));
    let layer = layer(&files);
    layout(&machine.local().join("node"), &name, &config(&layer), &layer);
    let local = machine.find(&name).await.unwrap();
    assert_ne!(local.id, pulled.id);
    assert!(fs::exists(format!("{}/etc/local", local.id)).unwrap());
    fs::remove_dir_all(machine.local().join("node")).unwrap();
    assert_eq!(machine.find(&name).await.unwrap().id, pulled.id);
}

#[tokio::test]
async fn an_image_that_is_nowhere_is_looked_for_everywhere() {
    let (machine, registry) = (Machine::new(), Registry::start().await.unwrap());
    let name = format!("{}/node:v1.36.9", registry.name());
    let error = machine.find(&name).await.unwrap_err();
    let local = machine.local().display().to_string();
    for expected in
        [&*local, "not pulled before", "404", "--container-images", "firstlight image node", &name]
    {
        assert!(error.contains(expected), "{expected}: {error}");
    }
    let error = machine.find("Not an image").await.unwrap_err();
    assert!(error.contains("is no name of an image"), "{error}");
    let Err(error) = machine.images.archive(&name).await else { panic!("it is nowhere") };
    assert!(format!("{error:#}").contains("--container-images"), "{error:#}");
}

/// Whoever opens a named pipe waits until somebody writes to it.
#[tokio::test]
async fn a_named_pipe_among_the_archives_is_told_and_passed() {
    let machine = Machine::new();
    pipe(&machine.local().join("first"));
    let looked = tokio::time::timeout(Duration::from_secs(60), machine.find("localhost:1/node:v1.36.3"));
    let error = looked.await.unwrap().unwrap_err();
    assert!(
        error.contains("local/first: cannot be opened: it is a named pipe and no regular file"),
        "{error}"
    );
    let layer = layer(&node());
    layout(&machine.local().join("node"), "docker.io/kindest/node:v1.36.3", &config(&layer), &layer);
    machine.find("kindest/node:v1.36.3").await.unwrap();
}

#[tokio::test]
async fn an_image_that_somebody_removed_is_unpacked_again() {
    let (machine, registry) = (Machine::new(), Registry::start().await.unwrap());
    put(&registry, "v1.36.3");
    let name = format!("{}/node:v1.36.3", registry.name());
    let image = machine.find(&name).await.unwrap();
    fs::remove_dir_all(&image.id).unwrap();
    assert_eq!(machine.find(&name).await.unwrap(), image);
    assert!(fs::exists(format!("{}/kind/version", image.id)).unwrap());
}

#[tokio::test]
async fn an_image_that_does_not_come_delays_no_other() {
    let machine = Machine::new();
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stuck = format!("{}/node:v1.36.3", silent.local_addr().unwrap());
    let layer = layer(&node());
    layout(&machine.local().join("node"), "docker.io/kindest/node:v1.36.3", &config(&layer), &layer);
    let other = async {
        let _asked = silent.accept().await.unwrap();
        machine.find("kindest/node:v1.36.3").await
    };
    tokio::select! {
        found = machine.find(&stuck) => panic!("nobody answers: {found:?}"),
        found = tokio::time::timeout(std::time::Duration::from_secs(20), other) => found.unwrap().unwrap(),
    };
}

/// A command and a server have the same data directory.
#[tokio::test]
async fn processes_take_turns() {
    let (machine, registry) = (Machine::new(), Registry::start().await.unwrap());
    put(&registry, "v1.36.3");
    let name = format!("{}/node:v1.36.3", registry.name());
    let data = machine.folder.path().join("data");
    let half = data.join("unfinished-other");
    fs::create_dir(&half).unwrap();
    // What another process has while it works.
    let lock = fs::File::create(data.join("lock")).unwrap();
    lock.lock().unwrap();
    let command = machine.again();
    assert!(half.exists(), "the other process works on it");
    let (waits, waiting) = tokio::sync::oneshot::channel();
    let waits = parking_lot::Mutex::new(Some(waits));
    let report = |line: &str| {
        if let Some(waits) = waits.lock().take() {
            waits.send(line.to_owned()).unwrap();
        }
    };
    let release = async {
        assert_eq!(waiting.await.unwrap(), "waiting for another process, which gets an image");
        assert_eq!(registry.with(|state| state.asked.len()), 0);
        drop(lock);
    };
    let (found, ()) = futures::join!(command.find(&name, &report), release);
    assert!(found.is_ok(), "{found:?}");
    machine.again();
    assert!(!half.exists(), "nobody works on it any more");
}

/// The full disk exists for one thread, and for those that it starts.
#[test]
fn a_full_disk_is_told_and_leaves_no_half_image() {
    const NAME: &str = "docker.io/kindest/node:v1.36.3";
    let tried = std::thread::spawn(|| {
        let machine = Machine::new();
        let data = machine.folder.path().join("data");
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS).unwrap();
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change("/", private).unwrap();
        mount("tmpfs", &data, "tmpfs", MountFlags::empty(), c"size=256k").unwrap();
        let images = machine.again();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let find = || runtime.block_on(images.find(NAME, &|_| ())).map_err(|error| format!("{error:#}"));
        let mut files = node();
        files.insert("usr/bin/large", (0o755, vec![b'x'; 1 << 20]));
        let large = layer(&files);
        layout(&machine.local().join("node"), NAME, &config(&large), &large);
        let error = find().unwrap_err();
        assert!(error.contains(NAME) && error.contains("No space left on device"), "{error}");
        let left = fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
        assert!(left.iter().all(|name| name == "lock"), "{left:?}");
        // As soon as there is space, it is unpacked.
        mount_remount(&data, MountFlags::empty(), c"size=4m").unwrap();
        assert_eq!(find().unwrap().kubernetes.as_deref(), Some("v1.36.3"));
    });
    tried.join().unwrap();
}
