//! Which characters are escaped, and how.

use terminal::{Bytes, is_unsafe, line, lines};

#[test]
fn what_moves_the_cursor_or_hides_is_escaped() {
    let cases = [
        ("plain, ä, 漢, ✓, 👍", "plain, ä, 漢, ✓, 👍"),
        ("\u{1b}[1;31mred\u{1b}[0m", "\\u001b[1;31mred\\u001b[0m"),
        ("a\u{9b}2J", "a\\u009b2J"),
        ("\u{7f}\u{0}\u{7}\u{8}", "\\u007f\\u0000\\u0007\\u0008"),
        ("a\nb\rc\td\u{b}e", "a\\nb\\rc\\td\\u000be"),
        ("exe.\u{202e}gpj", "exe.\\u202egpj"),
        ("\u{2066}a\u{2069}\u{200f}\u{61c}", "\\u2066a\\u2069\\u200f\\u061c"),
        ("SN\u{200b}1\u{feff}", "SN\\u200b1\\ufeff"),
        ("one\u{2028}two\u{2029}", "one\\u2028two\\u2029"),
        ("\u{e0041}", "\\udb40\\udc41"),
        ("\u{85}", "\\u0085"),
    ];
    for (text, expected) in cases {
        assert_eq!(line(text), expected);
    }
    assert_eq!(lines("a\nb\tc\r\u{1b}"), "a\nb\tc\\r\\u001b");
}

/// Every character without a glyph, found by its width and kind rather than from the table.
#[test]
fn no_control_character_is_forgotten() {
    for c in ('\0'..='\u{10ffff}').filter(|c| c.is_control()) {
        assert!(is_unsafe(c), "{c:?}");
    }
    for c in ' '..='~' {
        assert!(!is_unsafe(c), "{c:?}");
    }
    for c in ["200b", "200c", "200d", "200e", "200f", "202a", "202d", "2060", "2067", "206a", "fe0f", "fffa"]
    {
        let c = char::from_u32(u32::from_str_radix(c, 16).unwrap()).unwrap();
        assert!(is_unsafe(c) && line(&c.to_string()).is_ascii(), "{c:?}");
    }
}

#[test]
fn a_stream_is_escaped_across_its_pieces() {
    let whole = "a\u{1b}[2Jä漢\u{202e}\n".as_bytes();
    let expected = "a\\u001b[2Jä漢\\u202e\n";
    for at in 0..whole.len() {
        let mut bytes = Bytes::default();
        let shown = bytes.show(&whole[..at]) + &bytes.show(&whole[at..]) + &bytes.end();
        assert_eq!(shown, expected, "{at}");
    }
    let mut bytes = Bytes::default();
    assert_eq!(bytes.show(b"\xff\x9b2J\xe6") + &bytes.end(), "\\xff\\x9b2J\\xe6");
}
