//! Images as archives, which containerd reads.

use std::fs;

use bundle::{Archive, Digest};
use container_images::Name;
use system_containers::Images;
use test_registry::Registry;
use tokio::io::AsyncReadExt;

use super::fixture::{Machine, config, layer, layout, node};

/// Reads an archive, and returns the image that it has under this name.
async fn read(machine: &Machine, name: &str) -> Result<bundle::Image, String> {
    let mut content = Vec::new();
    let mut stream = machine.images.archive(name).await.map_err(|error| format!("{error:#}"))?;
    stream.read_to_end(&mut content).await.map_err(|error| error.to_string())?;
    let path = machine.folder.path().join("read.tar");
    fs::write(&path, content).unwrap();
    let archive = Archive::open(&path, machine.folder.path()).unwrap();
    let wanted: Name = name.parse().unwrap();
    let names: Vec<&str> = archive.names().collect();
    assert!(names.contains(&wanted.reference.to_string().as_str()) || wanted.digest.is_some(), "{names:?}");
    let image = archive.image(&wanted.reference, wanted.digest.as_ref()).unwrap().unwrap();
    let mut layer = archive.layer(&image.layers[0]).unwrap();
    let mut content = Vec::new();
    std::io::Read::read_to_end(&mut layer, &mut content).unwrap();
    assert_eq!(Digest::of(&content), image.layers[0].digest);
    Ok(image)
}

#[tokio::test]
async fn an_image_of_this_machine_keeps_its_digest() {
    let machine = Machine::new();
    let layer = layer(&node());
    layout(&machine.local().join("app"), "docker.io/library/app:v1", &config(&layer), &layer);
    let image = read(&machine, "app:v1").await.unwrap();
    let exact = format!("app@{}", image.manifest);
    assert_eq!(read(&machine, &exact).await.unwrap().manifest, image.manifest);
}

#[tokio::test]
async fn an_image_is_pulled_and_kept() {
    let (machine, registry) = (Machine::new(), Registry::start().await.unwrap());
    // More than the parts that wait in memory.
    let mut files = node();
    files.insert("large", (0o644, vec![7; 5 << 20]));
    let layer = layer(&files);
    let digest = registry.with(|state| test_registry::image(state, "app:v1", &config(&layer), &[&layer]));
    let name = format!("{}/app:v1", registry.name());
    assert_eq!(read(&machine, &name).await.unwrap().manifest, digest);
    let asked = registry.with(|state| state.asked.len());
    assert_eq!(read(&machine, &name).await.unwrap().manifest, digest);
    assert_eq!(registry.with(|state| state.asked.len()), asked);
    let exact = format!("{}/app@{digest}", registry.name());
    assert_eq!(read(&machine, &exact).await.unwrap().manifest, digest);
}

#[tokio::test]
async fn a_damaged_layer_ends_the_archive_with_an_error_and_is_fetched_again() {
    let (machine, registry) = (Machine::new(), Registry::start().await.unwrap());
    let layer = layer(&node());
    registry.with(|state| test_registry::image(state, "app:v1", &config(&layer), &[&layer]));
    let name = format!("{}/app:v1", registry.name());
    read(&machine, &name).await.unwrap();
    let kept = machine.folder.path().join("data/archives").join(Digest::of(name.as_bytes()).hex());
    let path = kept.join(Digest::of(&layer).path());
    let mut content = fs::read(&path).unwrap();
    content[700] ^= 1;
    fs::write(&path, content).unwrap();
    let error = read(&machine, &name).await.unwrap_err();
    assert!(error.contains("it is damaged") && error.contains(&name), "{error}");
    read(&machine, &name).await.unwrap();
}

#[tokio::test]
async fn nobody_waits_for_a_reader_that_has_gone() {
    let machine = Machine::new();
    let mut files = node();
    files.insert("large", (0o644, vec![7; 5 << 20]));
    let layer = layer(&files);
    layout(&machine.local().join("app"), "docker.io/library/app:v1", &config(&layer), &layer);
    let mut stream = machine.images.archive("app:v1").await.unwrap();
    stream.read_u8().await.unwrap();
    drop(stream);
    read(&machine, "app:v1").await.unwrap();
}
