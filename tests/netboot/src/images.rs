//! Disk images for the machines.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::assets::assets;
use crate::lab::{ADDRESS, run};

/// An image in a folder that the server serves.
pub struct Image {
    /// Path of the file.
    pub path: PathBuf,
    /// SHA-256 of the file, in hexadecimal.
    pub checksum: String,
}

impl Image {
    /// Returns the value for `BareMetalHost.spec.image`.
    pub fn spec(&self) -> Value {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        json!({
            "url": format!("http://{ADDRESS}:8080/images/{name}"),
            "checksum": self.checksum,
            "checksumType": "sha256",
            "format": "raw",
        })
    }
}

/// Builds an image that prints its name on the console and runs the user data; it boots in seconds.
///
/// # Errors
/// Fails if a required program is missing.
pub async fn small(name: &str, folder: &Path) -> Result<Image> {
    make("make-small", name, folder.join(format!("{name}.raw"))).await
}

/// Builds a Debian image with cloud-init, of about 940 MiB.
///
/// # Errors
/// The errors of [`small`].
pub async fn debian(folder: &Path) -> Result<Image> {
    make("make-debian", "860", folder.join("debian.raw")).await
}

/// Builds an image whose system behaves like a node of Kubernetes (`node`); it boots in seconds.
///
/// # Errors
/// The errors of [`small`].
pub async fn stand_in(folder: &Path) -> Result<Image> {
    let program = std::env::current_exe()?;
    let program = program.to_str().context("a path that is text")?;
    make("make-stand-in", program, folder.join("stand-in.raw")).await
}

async fn make(script: &str, what: &str, path: PathBuf) -> Result<Image> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("images").join(script);
    let (kernel, stub) = (assets().join("kernel"), assets().join("linuxx64.efi.stub"));
    let texts: Option<Vec<&str>> =
        [&script, &kernel, &stub, &path].iter().map(|path| path.to_str()).collect();
    let [script, kernel, stub, output] = texts.context("paths that are text")?[..] else { unreachable!() };
    run(script, &[what, kernel, stub, output]).await?;
    of(path).await
}

/// Returns the image in a file.
async fn of(path: PathBuf) -> Result<Image> {
    let sum = run("sha256sum", &[path.to_str().context("a path that is text")?]).await?;
    let checksum = sum.split_whitespace().next().unwrap_or_default().to_owned();
    Ok(Image { path, checksum })
}
