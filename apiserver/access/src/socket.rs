//! WebSockets of browsers, which cannot send the header `Authorization`: a protocol that they offer is the token.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{CONNECTION, HeaderName, SEC_WEBSOCKET_PROTOCOL, UPGRADE};
use http::{HeaderMap, HeaderValue};
use machinery::status::Status;

/// The prefix of the protocol that is a token.
const PREFIX: &str = "base64url.bearer.authorization.k8s.io.";

/// Returns whether a request asks for a WebSocket.
pub fn is_socket(headers: &HeaderMap) -> bool {
    let is = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"websocket");
    // A list of options, of which one that only contains the word means something else.
    let upgrades = |value: &HeaderValue| {
        let mut options = value.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        options.any(|option| option.eq_ignore_ascii_case(b"upgrade"))
    };
    headers.get(UPGRADE).is_some_and(is) && headers.get_all(CONNECTION).iter().any(upgrades)
}

/// Returns the values of a header that is a list.
pub fn header_values(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let texts = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    texts.flat_map(|text| text.split(',')).map(str::trim)
}

/// Returns whether a protocol is a token, and thus none that the answer may name.
pub fn is_token_protocol(protocol: &str) -> bool {
    protocol.starts_with(PREFIX)
}

/// Returns the token among the protocols of a WebSocket.
///
/// # Errors
/// 401 for several tokens, one that is not encoded, and one without another protocol that the answer can name.
pub(crate) fn token(headers: &HeaderMap) -> Result<Option<String>, Status> {
    if !is_socket(headers) {
        return Ok(None);
    }
    let (mut found, mut others) = (None, 0);
    for protocol in header_values(headers, SEC_WEBSOCKET_PROTOCOL) {
        let Some(encoded) = protocol.strip_prefix(PREFIX) else {
            others += 1;
            continue;
        };
        let decoded = URL_SAFE_NO_PAD.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let token = decoded.ok_or_else(Status::unauthorized)?;
        if found.replace(token).is_some() {
            return Err(Status::unauthorized());
        }
    }
    let found = found.filter(|token| !token.is_empty());
    if found.is_some() && others == 0 { Err(Status::unauthorized()) } else { Ok(found) }
}
