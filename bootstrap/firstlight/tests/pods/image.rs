//! An image with a shell of this machine, as an archive of `docker save`.

use std::path::{Path, PathBuf};
use std::process::Command;

use bundle::Digest;
use serde_json::{Value, json};
use tar::{Builder, EntryType, Header};

/// The name of the image.
pub const NAME: &str = "registry.example/shell:v1";
/// Where this test program is in an image that has it.
pub const PROGRAM: &str = "/bin/program";

/// The name of an image that always has this test program.
pub const PROGRAM_NAME: &str = "registry.example/program:v1";

/// Writes the archive to `folder`, with this test program if it is needed, which is large.
pub fn write(folder: &Path, with_program: bool) -> PathBuf {
    let layer = layer(with_program);
    let manifest = json!([{"Config": "config.json", "RepoTags": [NAME], "Layers": ["layer.tar"]}]);
    let path = folder.join("shell.tar");
    let mut archive = Builder::new(std::fs::File::create(&path).unwrap());
    add(&mut archive, "layer.tar", &layer);
    add(&mut archive, "config.json", config(&layer).to_string().as_bytes());
    add(&mut archive, "manifest.json", manifest.to_string().as_bytes());
    archive.into_inner().unwrap();
    path
}

/// Writes the image [`PROGRAM_NAME`] to `folder`, as an OCI image layout. Its digests are known, so that nobody has to compute them of a large layer.
pub fn write_layout(folder: &Path) {
    std::fs::create_dir_all(folder.join("blobs/sha256")).unwrap();
    let blob = |kind: &str, content: &[u8]| {
        let digest = Digest::of(content);
        std::fs::write(folder.join("blobs/sha256").join(digest.hex()), content).unwrap();
        json!({"mediaType": format!("application/vnd.oci.image.{kind}"), "digest": digest, "size": content.len()})
    };
    let layer = layer(true);
    let config = blob("config.v1+json", config(&layer).to_string().as_bytes());
    let manifest = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config, "layers": [blob("layer.v1.tar", &layer)],
    });
    let mut entry = blob("manifest.v1+json", manifest.to_string().as_bytes());
    entry["annotations"] = json!({"io.containerd.image.name": PROGRAM_NAME});
    let index = json!({"schemaVersion": 2, "manifests": [entry]});
    std::fs::write(folder.join("oci-layout"), json!({"imageLayoutVersion": "1.0.0"}).to_string()).unwrap();
    std::fs::write(folder.join("index.json"), index.to_string()).unwrap();
}

fn config(layer: &[u8]) -> Value {
    let architecture = if cfg!(target_arch = "x86_64") { "amd64" } else { "arm64" };
    json!({
        "architecture": architecture, "os": "linux",
        "config": {"User": "nonroot", "Env": ["PATH=/bin"], "Entrypoint": ["/bin/sh", "-c"]},
        "rootfs": {"type": "layers", "diff_ids": [Digest::of(layer)]},
    })
}

fn layer(with_program: bool) -> Vec<u8> {
    let mut archive = Builder::new(Vec::new());
    if with_program {
        let own = std::env::current_exe().unwrap();
        add(&mut archive, PROGRAM.trim_start_matches('/'), &std::fs::read(&own).unwrap());
        for (path, source) in libraries(&own) {
            add(&mut archive, &path, &std::fs::read(source).unwrap());
        }
    }
    for program in ["sh", "sleep", "cat"] {
        let found = ["/bin", "/usr/bin"].map(|folder| Path::new(folder).join(program));
        let found = found.iter().find(|path| path.exists()).unwrap();
        add(&mut archive, &format!("bin/{program}"), &std::fs::read(found).unwrap());
        for (path, source) in libraries(found) {
            add(&mut archive, &path, &std::fs::read(source).unwrap());
        }
    }
    add(
        &mut archive,
        "etc/passwd",
        b"root:x:0:0::/root:/bin/sh\nnonroot:x:65532:65532::/home/nonroot:/bin/sh\n",
    );
    let mut header = Header::new_ustar();
    header.set_entry_type(EntryType::Directory);
    header.set_mode(0o755);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(0);
    archive.append_data(&mut header, "data", std::io::empty()).unwrap();
    archive.into_inner().unwrap()
}

/// Returns the libraries and the loader of a program, with their paths in the image.
fn libraries(program: &Path) -> Vec<(String, String)> {
    let listed = Command::new("ldd").arg(program).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let paths = listed.lines().filter_map(|line| {
        let path = line.split_whitespace().find(|word| word.starts_with('/'))?;
        Some((path.trim_start_matches('/').to_owned(), path.to_owned()))
    });
    paths.collect()
}

fn add(archive: &mut Builder<impl std::io::Write>, path: &str, content: &[u8]) {
    let mut header = Header::new_gnu();
    header.set_mode(0o755);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(content.len() as u64);
    archive.append_data(&mut header, path, content).unwrap();
}
