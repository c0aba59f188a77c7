//! The text of watch events, made once for all who watch.

use bytes::{Bytes, BytesMut};
use parking_lot::Mutex;
use registry::EventType;

/// How many events are kept.
const KEPT: usize = 64;
/// Larger objects are not kept.
const KEPT_BYTES: usize = 64 * 1024;

struct Kept {
    kind: EventType,
    /// The object whose line this is. While it is held here no other object can be at its place in memory.
    object: Bytes,
    line: Bytes,
}

/// The lines of the newest events.
pub(crate) struct Lines(Vec<Mutex<Option<Kept>>>);

impl Default for Lines {
    fn default() -> Self {
        Self((0..KEPT).map(|_| Mutex::new(None)).collect())
    }
}

impl Lines {
    /// The line of an event as JSON. Watchers of one event share its object, and so its line.
    pub(crate) fn of(&self, kind: EventType, object: &Bytes) -> Bytes {
        let place = object.as_ptr() as usize / 64 % KEPT;
        let Some(slot) = self.0.get(place).filter(|_| object.len() <= KEPT_BYTES) else {
            return line(kind, std::slice::from_ref(object));
        };
        let mut slot = slot.lock();
        if let Some(kept) = &*slot
            && kept.kind == kind
            && kept.object.as_ptr() == object.as_ptr()
            && kept.object.len() == object.len()
        {
            return kept.line.clone();
        }
        let line = line(kind, std::slice::from_ref(object));
        *slot = Some(Kept { kind, object: object.clone(), line: line.clone() });
        line
    }
}

/// A watch event as a line of JSON around an object in pieces.
pub(crate) fn line(kind: EventType, object: &[Bytes]) -> Bytes {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_for_one_event() {
        let lines = Lines::default();
        let object = Bytes::from_static(b"{\"a\":1}");
        let first = lines.of(EventType::Added, &object);
        assert_eq!(first, "{\"type\":\"ADDED\",\"object\":{\"a\":1}}\n");
        assert_eq!(lines.of(EventType::Added, &object.clone()).as_ptr(), first.as_ptr());
        assert_eq!(lines.of(EventType::Modified, &object), "{\"type\":\"MODIFIED\",\"object\":{\"a\":1}}\n");
        let start = lines.of(EventType::Modified, &object.slice(..0));
        assert_eq!(start, "{\"type\":\"MODIFIED\",\"object\":}\n");
    }
}
