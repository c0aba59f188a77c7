//! Tests of how quantities are read and compared.

use machinery::quantity::{SHAPE, canonical, nanos};

#[test]
fn comparisons() {
    use std::cmp::Ordering::{Equal, Greater, Less};
    for (left, right, expected) in [
        ("1", "1000m", Some(Equal)),
        ("1Gi", "1G", Some(Greater)),
        ("1500m", "2", Some(Less)),
        ("-1", "0", Some(Less)),
        ("x", "0", None),
        ("1e400", "0", None),
    ] {
        let found = nanos(left).zip(nanos(right)).map(|(left, right)| left.cmp(&right));
        assert_eq!(found, expected, "{left} {right}");
    }
}

#[test]
fn forms() {
    for (text, expected) in [
        ("0", "0"),
        ("1", "1"),
        ("1000m", "1"),
        ("0.5", "500m"),
        ("100m", "100m"),
        ("1500m", "1500m"),
        ("1024Ki", "1Mi"),
        ("1Gi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("1024", "1024"),
        ("1000", "1k"),
        ("0.5Ki", "512"),
        ("1e3", "1e3"),
        ("1E", "1E"),
        ("2000000", "2M"),
        ("-1000m", "-1"),
        ("+5", "5"),
        ("0.0000000001", "1n"),
        ("1.25", "1250m"),
        ("300Mi", "300Mi"),
        ("0Gi", "0"),
        ("12e6", "12e6"),
    ] {
        assert_eq!(canonical(text).as_deref(), Ok(expected), "{text}");
    }
    for text in ["", "a", "1x", "1.2.3", ".", "1Kib", "- 1", "1e"] {
        assert_eq!(canonical(text), Err(SHAPE), "{text}");
    }
}
