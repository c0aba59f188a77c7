//! Cells and lines of a limited width.

use terminal::{cell, cut, wrapped};

#[test]
fn a_cell_is_one_short_line() {
    let cases = [
        ("QEMU  Standard\tPC", 20, "QEMU Standard PC"),
        ("\n\n52-54-00   10.0.0.7", 40, "52-54-00 10.0.0.7"),
        ("a\u{1b}[5A", 20, "a\\u001b[5A"),
        ("0123456789", 5, "0123…"),
        ("漢漢漢", 5, "漢漢…"),
        ("abc", 0, ""),
    ];
    for (text, width, expected) in cases {
        assert_eq!(cell(text, width), expected);
    }
    assert_eq!(cut("abc", 3), "abc");
}

#[test]
fn lines_are_broken_between_words() {
    let cases: [(&str, usize, &[&str]); 5] = [
        ("", 10, &[""]),
        ("one two three", 7, &["one two", "three"]),
        ("one two three", 100, &["one two three"]),
        ("0123456789 a", 4, &["0123", "4567", "89 a"]),
        ("a 漢漢漢", 4, &["a", "漢漢", "漢"]),
    ];
    for (line, width, expected) in cases {
        assert_eq!(wrapped(line, width), expected);
    }
}
