//! Ids of requests.

use http::{HeaderMap, HeaderName, HeaderValue};
use machinery::random::Random;

/// Returns the id of a request: the one that its client has chosen in the header `name`, unless it is longer than `most` bytes or no
/// text; otherwise a UUID.
pub fn request_id(headers: &HeaderMap, name: &HeaderName, most: usize, random: &Random) -> HeaderValue {
    let chosen = headers.get(name);
    let chosen = chosen.filter(|id| !id.is_empty() && id.len() <= most && id.to_str().is_ok());
    chosen
        .cloned()
        .unwrap_or_else(|| HeaderValue::try_from(random.uid()).unwrap_or(HeaderValue::from_static("unknown")))
}
