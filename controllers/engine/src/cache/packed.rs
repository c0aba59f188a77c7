//! Objects that would take many times the memory of their text: those with thousands of small values, which anybody may write into a Secret.
//! A cache keeps their text, compressed, and decodes it for those who ask.

use std::io::{Read, Write};
use std::sync::{Arc, Weak};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use kube::core::ObjectMeta;
use parking_lot::Mutex;

use super::contents::{Object, Stored};
use crate::names;
use crate::resident::resident;

/// Shorter objects are kept as they are. Size of the text in bytes.
const WIDE_FROM_BYTES: usize = 2 * 1024;
/// Objects are packed if they take more than this many times their text.
const TIMES: usize = 4;
/// About the memory of a string and of its place in a map, in bytes, for each of the quotes around it.
const QUOTE_BYTES: usize = 20;
/// About the memory of a value's place in a list or map in bytes.
const COMMA_BYTES: usize = 32;

/// How the text of an object is decoded.
pub(crate) type Decode = fn(&str) -> serde_json::Result<Stored>;

/// Returns whether an object takes many times the memory of its text.
pub fn is_wide(text: &str) -> bool {
    let count = |wanted: u8| text.bytes().filter(|byte| *byte == wanted).count();
    let decoded = || count(b'"') * QUOTE_BYTES + count(b',') * COMMA_BYTES;
    text.len() >= WIDE_FROM_BYTES && decoded() > TIMES * text.len()
}

/// An object as compressed text.
struct Packed {
    /// What the cache itself needs of the metadata.
    metadata: ObjectMeta,
    text: Vec<u8>,
    decode: Decode,
    whole: Mutex<Whole>,
}

/// The object beside its text.
enum Whole {
    /// Nobody has asked for it yet. A cache asks at once, for its indexes.
    New(Stored),
    /// It is there as long as somebody uses it.
    Used(Weak<dyn Object>),
}

impl Object for Packed {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn resident(&self) -> usize {
        resident(&self.metadata) + self.text.len()
    }

    fn unpacked(self: Arc<Self>) -> Option<Stored> {
        let mut whole = self.whole.lock();
        let known = match &*whole {
            Whole::New(object) => Some(object.clone()),
            Whole::Used(object) => object.upgrade(),
        };
        let object = match known {
            Some(object) => object,
            None => {
                let mut text = String::new();
                DeflateDecoder::new(&self.text[..]).read_to_string(&mut text).ok()?;
                (self.decode)(&text).ok()?
            }
        };
        *whole = Whole::Used(Arc::downgrade(&object));
        Some(object)
    }
}

/// Returns an object in the form in which a cache keeps it. `text` is what `decode` has decoded to it.
pub fn packed(object: Stored, text: &str, decode: Decode) -> Stored {
    if !is_wide(text) {
        return object;
    }
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory does not fail.
    let Ok(mut packed) = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish()) else {
        return object;
    };
    packed.shrink_to_fit();
    let metadata = known(object.metadata());
    Arc::new(Packed { metadata, text: packed, decode, whole: Mutex::new(Whole::New(object)) })
}

/// Returns the metadata by which a cache finds and compares objects.
fn known(metadata: &ObjectMeta) -> ObjectMeta {
    let cluster = metadata.labels.as_ref().and_then(|labels| labels.get(names::CLUSTER_NAME));
    ObjectMeta {
        name: metadata.name.clone(),
        namespace: metadata.namespace.clone(),
        uid: metadata.uid.clone(),
        resource_version: metadata.resource_version.clone(),
        labels: cluster.map(|cluster| [(names::CLUSTER_NAME.to_owned(), cluster.clone())].into()),
        ..ObjectMeta::default()
    }
}
