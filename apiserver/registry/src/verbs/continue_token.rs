//! The `continue` token, which says where the next page of a list begins.

use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};
use base64::{Engine, alphabet};
use machinery::status::Status;
use serde::{Deserialize, Serialize};

/// The `continue` token, in the format of kube-apiserver.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
struct Token {
    v: String,
    rv: i64,
    start: String,
}

const TOKEN_VERSION: &str = "meta.k8s.io/v1";

/// URL-safe Base64 as Go decodes it: unused trailing bits may be set.
const TOKEN_ENCODING: GeneralPurpose =
    GeneralPurpose::new(&alphabet::URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

pub(crate) fn encode_token(revision: u64, start: &str) -> String {
    let token = Token { v: TOKEN_VERSION.into(), rv: revision as i64, start: start.to_owned() };
    TOKEN_ENCODING.encode(serde_json::to_vec(&token).unwrap_or_default())
}

/// Returns the revision and the first key of the page that a token requests.
pub(crate) fn decode_token(text: &str, prefix: &str) -> Result<Option<(u64, String)>, Status> {
    if text.is_empty() {
        return Ok(None);
    }
    let invalid =
        |why: &str| Status::bad_request(format!("invalid continue token: continue key is not valid: {why}"));
    let bytes = TOKEN_ENCODING.decode(text).map_err(|error| invalid(&not_base64(text, error)))?;
    let token: Token =
        serde_json::from_slice(&bytes).map_err(|_| invalid(&kinds::decode::json_error(&bytes)))?;
    if token.v != TOKEN_VERSION {
        return Err(invalid(&format!("server does not recognize this encoded version {}", token.v)));
    }
    if token.rv == 0 {
        let why = format!("incorrect encoded start resourceVersion (version {TOKEN_VERSION})");
        return Err(invalid(&why));
    }
    if token.start.is_empty() {
        return Err(invalid(&format!("encoded start key empty (version {TOKEN_VERSION})")));
    }
    // The start key must stay below the prefix of the kind.
    let mut parts = token.start.strip_prefix('/').unwrap_or(&token.start).split('/');
    if parts.any(|part| matches!(part, "" | "." | "..")) {
        return Err(invalid(&token.start));
    }
    Ok(Some((
        u64::try_from(token.rv).unwrap_or(0),
        format!("{prefix}{}", token.start.trim_start_matches('/')),
    )))
}

/// Returns Go's message for text that is not unpadded URL-safe Base64.
fn not_base64(text: &str, error: base64::DecodeError) -> String {
    let at = match error {
        base64::DecodeError::InvalidByte(at, _) => at,
        // Go decodes groups of four characters and reports errors at the start of the last group.
        base64::DecodeError::InvalidLength(_)
        | base64::DecodeError::InvalidLastSymbol(..)
        | base64::DecodeError::InvalidPadding => text.len() / 4 * 4,
    };
    format!("illegal base64 data at input byte {at}")
}
