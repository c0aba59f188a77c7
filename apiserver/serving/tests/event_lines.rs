//! The lines of watch events.

use bytes::Bytes;
use registry::EventType;
use serving::testing::{EventLines, KEPT_BYTES, line, pieces};

#[test]
fn one_line_for_one_event() {
    let lines = EventLines::default();
    let object = Bytes::from_static(b"{\"a\":1}");
    let first = lines.of(EventType::Added, &object).unwrap();
    assert_eq!(first, "{\"type\":\"ADDED\",\"object\":{\"a\":1}}\n");
    assert_eq!(lines.of(EventType::Added, &object.clone()).unwrap().as_ptr(), first.as_ptr());
    let other = lines.of(EventType::Modified, &object).unwrap();
    assert_eq!(other, "{\"type\":\"MODIFIED\",\"object\":{\"a\":1}}\n");
    let start = lines.of(EventType::Modified, &object.slice(..0)).unwrap();
    assert_eq!(start, "{\"type\":\"MODIFIED\",\"object\":}\n");
    let large = Bytes::from(vec![b' '; KEPT_BYTES + 1]);
    assert_eq!(lines.of(EventType::Added, &large), None);
    let pieces = pieces(EventType::Added, &large);
    assert_eq!(pieces.concat(), line(EventType::Added, std::slice::from_ref(&large)));
    assert_eq!(pieces[1].as_ptr(), large.as_ptr());
    assert!(lines.of(EventType::Added, &large.slice(1..)).is_some());
}
