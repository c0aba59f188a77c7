//! Tests of `tftp::packet`.

use metal_boot::tftp::packet::{Message, Options, Request};
use proptest::prelude::*;

/// Returns the bytes of a text in which `|` stands for zero.
fn bytes(text: &str) -> Vec<u8> {
    text.bytes().map(|byte| if byte == b'|' { 0 } else { byte }).collect()
}

#[test]
fn requests_are_read() {
    let read = |file: &str, options| Some(Message::Read(Request { file: file.into(), options }));
    let none = Options::default();
    let all = Options { block: Some(1468), window: Some(4), timeout: Some(2), size: true };
    let cases = [
        ("|\u{1}a|octet|", read("a", none)),
        ("|\u{1}/a/b|OCTET|", read("a/b", none)),
        ("|\u{1}a|octet|tsize|0|BLKSIZE|9000|windowsize|4|timeout|2|other|x|", read("a", all)),
        ("|\u{1}a|octet|blksize|4|windowsize|0|timeout|256|tsize|x|", read("a", none)),
        ("|\u{1}a|octet|timeout|5|", read("a", Options { timeout: Some(5), ..none })),
        ("|\u{1}a|octet|timeout|6|", read("a", none)),
        ("|\u{1}a|octet|timeout|255|", read("a", none)),
        ("|\u{1}a|mail|", None),
        ("|\u{1}|octet|", None),
        ("|\u{2}a|octet|", Some(Message::Write)),
        ("|\u{4}\u{1}\u{2}", Some(Message::Acknowledge(258))),
        ("|\u{5}|\u{8}no|", Some(Message::Error(8, "no".into()))),
        ("|\u{4}\u{1}", None),
    ];
    for (text, expected) in cases {
        assert_eq!(Message::read(&bytes(text)), expected, "{text:?}");
    }
    let one_too_many = [bytes("|\u{1}a").as_slice(), &[0xff], &bytes("|octet|")].concat();
    assert_eq!(Message::read(&one_too_many), read("a", none));
}

#[test]
fn options_are_acknowledged() {
    assert_eq!(Options::default().acknowledgement(9), None);
    let all = Options { block: Some(1468), window: Some(4), timeout: None, size: true };
    let expected = bytes("|\u{6}blksize|1468|windowsize|4|tsize|9|");
    assert_eq!(all.acknowledgement(9), Some(expected));
}

proptest! {
    #[test]
    fn anything_is_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        Message::read(&bytes);
        let mut request = vec![0, 1];
        request.extend(bytes);
        Message::read(&request);
    }
}
