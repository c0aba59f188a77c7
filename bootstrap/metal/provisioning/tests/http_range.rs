//! The requested part of a file.

use metal_provisioning::http::range::{Part, part};

#[test]
fn parts_are_found() {
    let cases = [
        (None, 10, Part::Whole),
        (Some("bytes=0-0"), 10, Part::Bytes(0, 0)),
        (Some("bytes=2-"), 10, Part::Bytes(2, 9)),
        (Some("bytes=2-99"), 10, Part::Bytes(2, 9)),
        (Some("bytes=2-99999999999999999999999"), 10, Part::Bytes(2, 9)),
        (Some("bytes=-3"), 10, Part::Bytes(7, 9)),
        (Some("bytes=-30"), 10, Part::Bytes(0, 9)),
        (Some("Bytes = 1 - 2"), 10, Part::Bytes(1, 2)),
        (Some("bytes=10-"), 10, Part::Impossible),
        (Some("bytes=-0"), 10, Part::Impossible),
        (Some("bytes=0-"), 0, Part::Impossible),
        (Some("bytes=-1"), 0, Part::Impossible),
        (Some("bytes=5-2"), 10, Part::Whole),
        (Some("bytes=0-1,3-4"), 10, Part::Whole),
        (Some("lines=0-1"), 10, Part::Whole),
        (Some("bytes=-"), 10, Part::Whole),
        (Some("bytes=a-b"), 10, Part::Whole),
    ];
    for (header, length, expected) in cases {
        assert_eq!(part(header, length), expected, "{header:?} of {length}");
    }
}
