//! Conditional requests: entity tags and dates.

use chrono::{DateTime, Utc};
use http::header::{HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_UNMODIFIED_SINCE};
use http::{HeaderMap, HeaderValue};
use sha2::{Digest, Sha256};

/// Returns a strong entity tag for these bytes.
pub(crate) fn entity_tag(bytes: &[u8]) -> HeaderValue {
    let hash: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02X}")).collect();
    HeaderValue::from_str(&format!("\"{hash}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}

/// Evaluates conditional headers: 304 if the client has the document, 412 if a condition fails, `None` to
/// send the document. A document counts as last modified before `now`.
pub(crate) fn precondition(request: &HeaderMap, tag: &HeaderValue, now: DateTime<Utc>) -> Option<u16> {
    let texts = |name: HeaderName| {
        let values: Vec<&str> =
            request.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
        values
    };
    let listed = |values: &[&str], weak: bool| {
        values.iter().flat_map(|value| value.split(',')).map(str::trim).any(|one| {
            let one = if weak { one.strip_prefix("W/").unwrap_or(one) } else { one };
            one == "*" || tag.to_str().is_ok_and(|tag| tag == one)
        })
    };
    let date = |name: HeaderName| {
        let text = texts(name).first().copied()?;
        DateTime::parse_from_rfc2822(text).ok().map(|date| date.to_utc())
    };
    let (matching, known) = (texts(IF_MATCH), texts(IF_NONE_MATCH));
    if matching.is_empty() {
        if date(IF_UNMODIFIED_SINCE).is_some_and(|date| date < now) {
            return Some(412);
        }
    } else if !listed(&matching, false) {
        return Some(412);
    }
    let unchanged = if known.is_empty() {
        date(IF_MODIFIED_SINCE).is_some_and(|date| date >= now)
    } else {
        listed(&known, true)
    };
    unchanged.then_some(304)
}
