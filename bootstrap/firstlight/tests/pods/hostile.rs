//! Images that nobody should run: what a Pod says of them, and what remains of them.

use bundle::Digest;
use tar::{Builder, EntryType, Header};

use super::*;

/// Writes an image with one entry in its layer, of which the config says this digest and architecture.
fn archive(folder: &Path, name: &str, path: &str, architecture: Option<&str>, digest: Option<Digest>) {
    let mut layer = Builder::new(Vec::new());
    let mut header = Header::new_ustar();
    header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o755);
    header.set_size(1);
    header.set_cksum();
    layer.append(&header, &b"x"[..]).unwrap();
    let layer = layer.into_inner().unwrap();
    let own = if cfg!(target_arch = "x86_64") { "amd64" } else { "arm64" };
    let config = json!({
        "architecture": architecture.unwrap_or(own), "os": "linux", "config": {"Entrypoint": ["/x"]},
        "rootfs": {"type": "layers", "diff_ids": [digest.unwrap_or_else(|| Digest::of(&layer))]},
    });
    let names = [format!("registry.example/{name}:v1")];
    let manifest = json!([{"Config": "config.json", "RepoTags": names, "Layers": ["layer.tar"]}]);
    let mut archive = Builder::new(std::fs::File::create(folder.join(format!("{name}.tar"))).unwrap());
    for (name, content) in [
        ("layer.tar", layer),
        ("config.json", config.to_string().into_bytes()),
        ("manifest.json", manifest.to_string().into_bytes()),
    ] {
        let mut header = Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        archive.append_data(&mut header, name, content.as_slice()).unwrap();
    }
    archive.into_inner().unwrap();
}

#[tokio::test]
async fn hostile_images_are_refused_in_the_status() {
    let images = tempfile::tempdir().unwrap();
    archive(images.path(), "foreign", "x", Some("riscv64"), None);
    archive(images.path(), "false", "x", None, Some(Digest::of(b"something else")));
    archive(images.path(), "escape", "../../../escaped", None, None);
    archive(images.path(), "absolute", "/tmp/firstlight-escaped", None, None);
    let folder = images.path().to_str().unwrap();
    let machine = Machine::start_as(false, &["--store", "memory", "--container-images", folder]).await;
    let waiting = |pod: &Pod| container(pod)["state"]["waiting"].clone();
    for (name, expected) in [
        ("foreign", "it is an image for linux/riscv64"),
        ("false", "and the config says sha256:"),
        ("escape", "the path leads out of the image"),
        ("absolute", "the path is absolute"),
    ] {
        let image = json!({"container": {"image": format!("registry.example/{name}:v1"), "imagePullPolicy": "Never"}});
        machine.deploy(name, "", image).await;
        let pod = machine.pod(name, "refused", |pod| waiting(pod)["message"].is_string()).await;
        let message = waiting(&pod)["message"].as_str().unwrap().to_owned();
        assert!(
            message.contains(expected) && message.contains(&format!("registry.example/{name}")),
            "{message}"
        );
    }
    let data = machine.folder.path().join("data/pods");
    let left = std::fs::read_dir(data.join("images")).unwrap().flatten().map(|entry| entry.file_name());
    assert_eq!(left.collect::<Vec<_>>().len(), 0);
    assert!(!data.join("escaped").exists() && !Path::new("/tmp/firstlight-escaped").exists());
}
