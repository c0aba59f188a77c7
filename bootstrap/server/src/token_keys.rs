//! The keys of service account tokens in the data directory: one key signs, all of them verify.
//!
//! `service-account.key` signs. `service-account-ID.pub` is its public key. The public keys of earlier keys are kept beside it, and as
//! long as they exist, tokens of those keys are valid. To change the key, remove `service-account.key` and restart.

use anyhow::{Context, Result};
use machinery::random::Random;
use pki::{KeyAlgorithm, PrivateKey, SigningKey, TokenKeys, VerifyingKey};

use crate::data_directory::{DataDirectory, write_private};

/// The file of the key with which new tokens are signed.
pub const KEY: &str = "service-account.key";
const PUBLIC_PREFIX: &str = "service-account-";
const PUBLIC_SUFFIX: &str = ".pub";
/// The number of characters of a key's identifier in its file name.
const ID_LENGTH: usize = 16;

/// Reads the keys in `directory`, and creates one if there is none.
///
/// # Errors
/// A file is damaged (the message names it, and it is left unchanged), or a write fails.
pub fn load_or_create(directory: &DataDirectory, random: &Random) -> Result<TokenKeys> {
    let folder = directory.pki();
    let path = folder.join(KEY);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let text = PrivateKey::generate(KeyAlgorithm::EcdsaP256, random)?.to_pem();
            write_private(&path, text.as_bytes())?;
            text
        }
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let damaged = || format!("the key of tokens in {} is damaged", path.display());
    let signing = SigningKey::from_pem(&text).with_context(damaged)?;
    let id: String = signing.public().id().chars().take(ID_LENGTH).collect();
    let public = folder.join(format!("{PUBLIC_PREFIX}{id}{PUBLIC_SUFFIX}"));
    if !public.exists() {
        let pem = PrivateKey::from_pem(&text).with_context(damaged)?.public_key_pem();
        write_private(&public, pem.as_bytes())?;
    }
    let mut earlier = Vec::new();
    let listed = std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in listed.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(PUBLIC_PREFIX) && name.ends_with(PUBLIC_SUFFIX) {
            let path = entry.path();
            let text =
                std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let key = VerifyingKey::from_pem(&text)
                .with_context(|| format!("the key of tokens in {} is damaged", path.display()))?;
            earlier.push(key);
        }
    }
    // The order of directory entries is arbitrary; that of published keys must be stable.
    earlier.sort_by(|a, b| a.id().cmp(b.id()));
    Ok(TokenKeys::new(signing, earlier))
}
