//! The header `Range`.

use serving::testing::{Part, part};

#[test]
fn ranges() {
    for (text, wanted) in [
        ("", Part::Whole),
        ("bytes=0-10", Part::Bytes(0, 10)),
        ("bytes=90-", Part::Bytes(90, 99)),
        ("bytes=-5", Part::Bytes(95, 99)),
        ("bytes=-500", Part::Bytes(0, 99)),
        ("bytes=5-500", Part::Bytes(5, 99)),
        ("bytes=99-99", Part::Bytes(99, 99)),
        ("bytes=100-", Part::Outside),
        ("bytes=5-2", Part::Unreadable),
        ("bytes=+1-2", Part::Unreadable),
        ("bytes=x", Part::Unreadable),
        ("x", Part::Unreadable),
        ("bytes=", Part::Whole),
        ("bytes=0-1,3-4", Part::Whole),
        ("bytes=0-1,300-", Part::Bytes(0, 1)),
    ] {
        assert_eq!(part(text, 100), wanted, "{text}");
    }
}
