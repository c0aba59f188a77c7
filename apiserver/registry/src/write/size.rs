//! The size of a stored object, which etcd limits. What is larger could not move to a cluster that stores its objects in etcd.

use kinds::definition::Definition;
use kinds::json::Order;
use machinery::meta;
use machinery::status::Status;
use serde_json::Value;

use super::changed::Ownership;
use crate::context::{Context, INTERNAL};
use crate::limits::{ENCRYPTION_ROOM_BYTES, ETCD_MESSAGE_BYTES_MAX, ETCD_REQUEST_BYTES_MAX};
use crate::storage::document::Document;
use crate::storage::keys;
use crate::target::Target;
use crate::versions::definitions::Served;
use crate::versions::fields;

/// The bytes of a request to etcd beside the object and its key, which it contains three times.
const ENVELOPE: usize = 64;

/// The largest factor by which an object grows when Go writes it: each `<` becomes `\u003c`.
const GROWTH: usize = 6;

/// Checks whether etcd would store an object, which replaces `before`. Without an apply, an object that is too large is stored without its
/// field ownership, as by kube-apiserver.
///
/// What is stored already may be as large as it is, and writes of the server itself are not limited.
///
/// # Errors
/// 500 with the message of etcd.
pub(crate) fn fit(
    context: &Context,
    target: &Target<'_>,
    ownership: Ownership,
    mut stored: Value,
    document: Document,
    before: Option<&[u8]>,
) -> Result<(Value, Document), Status> {
    if context.user.name == INTERNAL {
        return Ok((stored, document));
    }
    let Some(refusal) = refusal(target, &stored, &document, before) else {
        return Ok((stored, document));
    };
    if matches!(ownership, Ownership::Applied) {
        return Err(refusal);
    }
    if let Some(metadata) = meta::metadata_mut(&mut stored) {
        metadata.remove("managedFields");
    }
    let document = fields::document(target.served, &stored);
    match self::refusal(target, &stored, &document, before) {
        Some(refusal) => Err(refusal),
        None => Ok((stored, document)),
    }
}

fn refusal(
    target: &Target<'_>,
    stored: &Value,
    document: &Document,
    before: Option<&[u8]>,
) -> Option<Status> {
    let served = target.served;
    let key = keys::shown(&served.definition, target.namespace, target.name);
    let around = 3 * key.len() + ENVELOPE;
    let room = ETCD_REQUEST_BYTES_MAX - ENCRYPTION_ROOM_BYTES - around;
    if document.text().len() <= room / GROWTH {
        return None;
    }
    let bytes = size(served, stored, document.text());
    let is_larger = || before.is_none_or(|before| bytes > size_before(served, before));
    if bytes <= room || !is_larger() {
        return None;
    }
    let message = bytes + around;
    Some(Status::generic(if message > ETCD_MESSAGE_BYTES_MAX {
        format!(
            "rpc error: code = ResourceExhausted desc = trying to send message larger than max ({message} vs. {ETCD_MESSAGE_BYTES_MAX})"
        )
    } else {
        "etcdserver: request is too large".to_owned()
    }))
}

/// Returns about as many bytes as kube-apiserver stores for an object.
fn size(served: &Served, stored: &Value, text: &[u8]) -> usize {
    let protobuf = if is_json(&served.definition) { None } else { kinds::protobuf::encode(stored) };
    match protobuf {
        Some(protobuf) => protobuf.len(),
        None => {
            let escaped = text.iter().filter(|byte| matches!(byte, b'<' | b'>' | b'&')).count();
            text.len() + (GROWTH - 1) * escaped
        }
    }
}

/// Returns the size of a stored object without its `resourceVersion`, which etcd does not store.
fn size_before(served: &Served, text: &[u8]) -> usize {
    let Ok(mut stored) = machinery::decode::own::<Value>(text) else { return text.len() };
    if let Some(metadata) = meta::metadata_mut(&mut stored) {
        metadata.remove("resourceVersion");
    }
    let text = Document::new(&stored, Order::SORTED);
    size(served, &stored, text.text())
}

/// Returns whether kube-apiserver stores objects of this kind as JSON.
fn is_json(definition: &Definition) -> bool {
    !definition.built_in
        || matches!(definition.group.as_str(), "apiextensions.k8s.io" | "apiregistration.k8s.io")
}
