//! The certificate of a webhook server.

use std::fs;
use std::path::Path;

use anyhow::Result;

/// Writes a certificate for loopback and its key where controller-runtime looks for them in its folder for certificates. Returns the
/// certificate, which is its own authority.
///
/// # Errors
/// The files cannot be written.
pub fn write(folder: &Path) -> Result<String> {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
    fs::create_dir_all(folder)?;
    fs::write(folder.join("tls.crt"), made.cert.pem())?;
    fs::write(folder.join("tls.key"), made.signing_key.serialize_pem())?;
    Ok(made.cert.pem())
}
