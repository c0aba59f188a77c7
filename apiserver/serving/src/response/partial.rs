//! `PartialObjectMetadata` of single objects, and the metadata of lists.

use bytes::Bytes;
use machinery::splice;
use registry::List;

/// Returns the metadata of a list of custom objects, which always say `continue`.
pub(crate) fn sorted_list_metadata(list: &List) -> String {
    let mut metadata = format!("{{\"continue\":\"{}\"", list.continue_token);
    if let Some(remaining) = list.remaining.filter(|remaining| *remaining > 0) {
        metadata.push_str(&format!(",\"remainingItemCount\":{remaining}"));
    }
    metadata.push_str(&format!(",\"resourceVersion\":\"{}\"}}", list.resource_version));
    metadata
}

/// Returns the `ListMeta` as JSON.
pub(crate) fn list_metadata(list: &List) -> String {
    let mut metadata = format!("{{\"resourceVersion\":\"{}\"", list.resource_version);
    if !list.continue_token.is_empty() {
        metadata.push_str(&format!(",\"continue\":\"{}\"", list.continue_token));
    }
    if let Some(remaining) = list.remaining.filter(|remaining| *remaining > 0) {
        metadata.push_str(&format!(",\"remainingItemCount\":{remaining}"));
    }
    metadata.push('}');
    metadata
}

/// Returns a `PartialObjectMetadata` with the object's metadata.
pub(crate) fn partial(version: &str, object: &Bytes) -> Vec<Bytes> {
    let head = format!("{{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"{version}\",\"metadata\":");
    let metadata = splice::value(object, "metadata").unwrap_or_else(|| Bytes::from_static(b"{}"));
    vec![Bytes::from(head), metadata, Bytes::from_static(b"}")]
}
