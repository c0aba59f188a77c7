//! Builds a container image of this program: an OCI archive, which also contains the `manifest.json` for `docker load`.
//!
//! The same program on the same machine gives the same bytes: the only time in the image is that of the program's source.

mod layer;

use std::io::Write;

use anyhow::{Context, Result, ensure};
use chrono::{DateTime, Utc};
use machinery::clock::rfc3339;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

pub use layer::Layer;
pub use metal_boot::images::program::Entry;

/// The path of the program in the image.
pub const PROGRAM: &str = "/firstlight";
/// The user and the group under which the program runs.
pub const USER: u32 = 65532;

/// The folder of the server's data in the image, a volume that belongs to [`USER`].
pub const DATA: &str = "/data";
/// The arguments of the program if a container is started without any. A container is reached from outside of its network only.
const ARGUMENTS: [&str; 3] = ["serve", "--listen", "0.0.0.0:6443"];

/// Returns the files for an image of this program.
///
/// # Errors
/// The system is not Linux, or a file cannot be read.
pub fn of_this_process() -> Result<Vec<Entry>> {
    metal_boot::images::program::of_this_process(PROGRAM)
}

/// Returns the default name of the image.
pub fn default_reference() -> String {
    format!("localhost/firstlight:v{}", env!("CARGO_PKG_VERSION"))
}

/// Checks and splits the name of an image: `[HOST[:PORT]/]PATH[:TAG]`.
///
/// # Errors
/// The name is invalid.
pub fn check_reference(reference: &str) -> Result<(&str, &str)> {
    let (name, tag) = match reference.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, tag),
        _ => (reference, "latest"),
    };
    let plain = |text: &str, also: &str| {
        text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || also.contains(c))
    };
    let (host, path) = match name.split_once('/') {
        Some((host, path)) if host.contains(['.', ':']) || host == "localhost" => (Some(host), path),
        _ => (None, name),
    };
    let good = host.is_none_or(|host| plain(host, ".-:"))
        && path.split('/').all(|part| plain(part, "._-") && !part.contains(char::is_uppercase))
        && plain(tag, "._-")
        && tag.len() <= 128;
    ensure!(
        good,
        "{reference:?} is no name of an image; write [HOST/]NAME[:TAG], as registry.example/firstlight:v1"
    );
    Ok((name, tag))
}

/// Writes an image of `entries` with the name `reference`, which starts [`PROGRAM`], and returns the digest of its manifest.
///
/// # Errors
/// A file cannot be read, or the output cannot be written.
pub fn write(out: impl Write, reference: &str, entries: &[Entry]) -> Result<String> {
    let mut config = starts(PROGRAM);
    config["Cmd"] = json!(ARGUMENTS);
    config["Env"] = json!(["PATH=/", format!("FIRSTLIGHT_DATA_DIR={DATA}")]);
    config["Volumes"] = json!({DATA: {}});
    config["ExposedPorts"] = json!({"6443/tcp": {}});
    config["Labels"] = json!({
        "org.opencontainers.image.title": "firstlight",
        "org.opencontainers.image.version": env!("CARGO_PKG_VERSION"),
        "org.opencontainers.image.licenses": env!("CARGO_PKG_LICENSE"),
    });
    write_with(out, reference, &config, Layer::of(entries, &[DATA])?)
}

/// The same for another program, whose path in the image is `program`.
///
/// # Errors
/// The errors of [`write`].
pub fn write_program(out: impl Write, reference: &str, program: &str, entries: &[Entry]) -> Result<String> {
    write_with(out, reference, &starts(program), Layer::of(entries, &[])?)
}

/// Returns how a container of an image with this program starts.
fn starts(program: &str) -> Value {
    json!({"User": format!("{USER}:{USER}"), "Entrypoint": [program], "Env": ["PATH=/"]})
}

fn write_with(out: impl Write, reference: &str, config: &Value, layer: Layer) -> Result<String> {
    let (name, tag) = check_reference(reference)?;
    let full = format!("{name}:{tag}");
    let config = Blob::json(&self::config(config, &layer.contents, &created()?))?;
    let layer = Blob(layer.compressed);
    let manifest = Blob::json(&json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config.describe("application/vnd.oci.image.config.v1+json"),
        "layers": [layer.describe("application/vnd.oci.image.layer.v1.tar+gzip")],
    }))?;
    let mut entry = manifest.describe("application/vnd.oci.image.manifest.v1+json");
    entry["platform"] = json!({"architecture": bundle::architecture(), "os": "linux"});
    // containerd and podman use the full name in the first annotation, other tools the tag in the second.
    entry["annotations"] =
        json!({"io.containerd.image.name": full, "org.opencontainers.image.ref.name": tag});
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [entry],
    });
    let docker = json!([{"Config": config.path(), "RepoTags": [full], "Layers": [layer.path()]}]);
    let mut archive = layer::archive(out);
    layer::add(
        &mut archive,
        "oci-layout",
        0o644,
        json!({"imageLayoutVersion": "1.0.0"}).to_string().as_bytes(),
    )?;
    layer::add(&mut archive, "index.json", 0o644, index.to_string().as_bytes())?;
    layer::add(&mut archive, "manifest.json", 0o644, docker.to_string().as_bytes())?;
    for blob in [&config, &layer, &manifest] {
        layer::add(&mut archive, &blob.path(), 0o644, &blob.0)?;
    }
    archive.into_inner().and_then(|mut out| out.flush()).context("cannot write the image")?;
    Ok(manifest.digest())
}

/// Returns the time of the program's source: `SOURCE_DATE_EPOCH`, or that of its commit. The time of a build would give each image other bytes.
fn created() -> Result<String> {
    let seconds = time()?;
    let time = DateTime::<Utc>::from_timestamp(seconds, 0);
    let time = time.with_context(|| format!("SOURCE_DATE_EPOCH={seconds} is no time"))?;
    Ok(rfc3339(time))
}

/// Returns the same time in seconds since 1970.
///
/// # Errors
/// `SOURCE_DATE_EPOCH` is no number.
pub fn time() -> Result<i64> {
    let seconds = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => env!("FIRSTLIGHT_COMMIT_SECONDS").to_owned(),
    };
    let time = seconds.trim().parse().ok();
    time.with_context(|| format!("SOURCE_DATE_EPOCH={seconds:?} is no number of seconds"))
}

fn config(config: &Value, contents: &str, created: &str) -> Value {
    json!({
        "created": created,
        "architecture": bundle::architecture(),
        "os": "linux",
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [contents]},
        "history": [{"created": created, "created_by": "firstlight image"}],
    })
}

/// Returns the digest in the form `sha256:…`.
pub(crate) fn digest(hash: Sha256) -> String {
    let hex: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// Content that is identified by its digest.
struct Blob(Vec<u8>);

impl Blob {
    fn json(value: &Value) -> Result<Self> {
        Ok(Self(serde_json::to_vec(value)?))
    }

    fn digest(&self) -> String {
        digest(Sha256::new_with_prefix(&self.0))
    }

    fn path(&self) -> String {
        format!("blobs/{}", self.digest().replace(':', "/"))
    }

    fn describe(&self, media_type: &str) -> Value {
        json!({"mediaType": media_type, "digest": self.digest(), "size": self.0.len()})
    }
}
