//! Compact JSON Web Signatures (RFC 7515).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pki::{SigningKey, VerifyingKey};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    kid: String,
}

/// Signs a token with this payload.
///
/// # Errors
/// Says in words why signing failed.
pub(super) fn sign(key: &SigningKey, payload: &Value) -> Result<String, String> {
    let header = json!({"alg": key.public().algorithm().name(), "kid": key.public().id()});
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(&header), part(payload));
    let signature = key.sign(signed.as_bytes()).map_err(|error| error.to_string())?;
    Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

/// The parts of a token, not yet verified.
pub(super) struct Parsed<'t> {
    header: Header,
    /// The claims as JSON.
    pub(super) payload: Vec<u8>,
    signed: &'t str,
    signature: Vec<u8>,
}

/// Splits and decodes a token; `None` if it is malformed.
pub(super) fn parse(token: &str) -> Option<Parsed<'_>> {
    let (signed, signature) = token.rsplit_once('.')?;
    let (header, payload) = signed.split_once('.')?;
    let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).ok();
    Some(Parsed {
        header: serde_json::from_slice(&decode(header)?).ok()?,
        payload: decode(payload)?,
        signed,
        signature: decode(signature)?,
    })
}

impl Parsed<'_> {
    /// Returns whether one of `keys` signed the token. If the token names a known key, only that key is
    /// tried.
    pub(super) fn is_signed_by(&self, keys: &[VerifyingKey]) -> bool {
        let named = keys.iter().any(|key| key.id() == self.header.kid);
        let fits = |key: &&VerifyingKey| {
            key.algorithm().name() == self.header.alg && (!named || key.id() == self.header.kid)
        };
        keys.iter().filter(fits).any(|key| key.verify(self.signed.as_bytes(), &self.signature))
    }
}
