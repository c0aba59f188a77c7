//! The encoded lines of watch events, computed once for all watchers.

use std::sync::{Arc, LazyLock};

use bytes::{Bytes, BytesMut};
use parking_lot::Mutex;
use registry::EventType;

/// Number of cached events.
const KEPT: usize = 64;
/// Larger objects are not cached; they are sent by [`pieces`].
pub const KEPT_BYTES: usize = 64 * 1024;

struct Encoded {
    kind: EventType,
    /// The object of the cached line. While it is held here, no other object can have the same memory
    /// address.
    object: Bytes,
    line: Bytes,
}

/// A cache of the lines of recent events.
pub struct EventLines(Vec<Mutex<Option<Encoded>>>);

impl Default for EventLines {
    fn default() -> Self {
        Self((0..KEPT).map(|_| Mutex::new(None)).collect())
    }
}

impl EventLines {
    /// Returns the cache that all servers of this process share, so that many servers need no more memory than one.
    pub(crate) fn of_all_servers() -> Arc<Self> {
        static LINES: LazyLock<Arc<EventLines>> = LazyLock::new(Arc::default);
        LINES.clone()
    }

    /// Returns the JSON line of an event; `None` for a large one. All watchers of an event share its object,
    /// and therefore its line.
    pub fn of(&self, kind: EventType, object: &Bytes) -> Option<Bytes> {
        let place = object.as_ptr() as usize / 64 % KEPT;
        let mut slot = self.0.get(place).filter(|_| object.len() <= KEPT_BYTES)?.lock();
        if let Some(kept) = &*slot
            && kept.kind == kind
            && kept.object.as_ptr() == object.as_ptr()
            && kept.object.len() == object.len()
        {
            return Some(kept.line.clone());
        }
        let line = line(kind, std::slice::from_ref(object));
        *slot = Some(Encoded { kind, object: object.clone(), line: line.clone() });
        Some(line)
    }
}

/// Returns the line of an event in pieces, without copying the object, so that all watchers share it.
pub fn pieces(kind: EventType, object: &Bytes) -> [Bytes; 3] {
    let head = format!("{{\"type\":\"{}\",\"object\":", kind.as_str());
    [Bytes::from(head), object.clone(), Bytes::from_static(b"}\n")]
}

/// Returns a watch event as a JSON line around an object in pieces.
pub fn line(kind: EventType, object: &[Bytes]) -> Bytes {
    let size: usize = object.iter().map(Bytes::len).sum();
    let mut line = BytesMut::with_capacity(size + 40);
    line.extend_from_slice(b"{\"type\":\"");
    line.extend_from_slice(kind.as_str().as_bytes());
    line.extend_from_slice(b"\",\"object\":");
    for piece in object {
        line.extend_from_slice(piece);
    }
    line.extend_from_slice(b"}\n");
    line.freeze()
}
