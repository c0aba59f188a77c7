//! Tests of how quantities are read and compared.

use machinery::quantity::{Quantity, Refusal, SHAPE, canonical, nanos};

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
    for text in ["", "a", "1x", "1.2.3", "1Kib", "- 1", "1 ", "1e", "1e+", "1e3m", "--1", "1e9999999999"] {
        assert_eq!(canonical(text), Err(SHAPE), "{text}");
    }
}

/// Recorded from `ParseQuantity`, `String` and `AsApproximateFloat64` of `k8s.io/apimachinery` v0.36.3.
#[test]
fn as_upstream() {
    for (text, form, float) in [
        (".", "0", 0.0),
        ("+", "0", 0.0),
        ("-.", "0", 0.0),
        ("Ki", "0", 0.0),
        ("m", "0", 0.0),
        (".5", "500m", 0.5),
        ("5.", "5", 5.0),
        ("1.Gi", "1Gi", 1_073_741_824.0),
        ("-1.5Ki", "-1536", -1536.0),
        ("0.0001Ki", "102400u", 0.1024),
        ("1E", "1E", 1e18),
        ("1E+3", "1e3", 1000.0),
        ("1e-3", "1e-3", 0.001),
        // More than 10^-9 is rounded away from zero.
        ("1e-10", "1e-9", 1e-9),
        ("1e-30", "1e-9", 1e-9),
        ("-0.0000000001", "-1n", -1e-9),
        ("0.000000000000000000000000000000000000000001", "1n", 1e-9),
        ("1.23456789012345678Ki", "1264197519487n", 1_264.197_519_487),
        // Large numbers.
        ("1e31", "10e30", 1e31),
        ("1e99", "1e99", 1e99),
        ("000000000000000000000000000000000000000001", "1", 1.0),
        (
            "12345678901234567890123456789012345678",
            "12345678901234567890123456789012345678",
            1.234_567_890_123_456_8e37,
        ),
    ] {
        assert_eq!(canonical(text).as_deref(), Ok(form), "{text}");
        let found = Quantity::parse(text).map(|quantity| quantity.as_float());
        assert!(found.is_ok_and(|found| (found - float).abs() <= float.abs() * 1e-15), "{text} {found:?}");
    }
}

/// Upstream has no limits, and does not come to an end with most of these.
#[test]
fn limits() {
    for (text, refusal) in [
        ("1e256", None),
        ("1e257", Some(Refusal::Range)),
        ("1e2147483647", Some(Refusal::Range)),
        ("1e-2147483647", None),
        ("1e-2147483648", Some(Refusal::Shape)),
        ("99999999999999999999999999999999999999", None),
        ("999999999999999999999999999999999999999", Some(Refusal::Range)),
        ("99999999999999999999999999999999999999Ki", Some(Refusal::Range)),
    ] {
        assert_eq!(Quantity::parse(text).err(), refusal, "{text}");
        if refusal == Some(Refusal::Range) {
            assert_eq!(canonical(text).as_deref(), Ok(text));
            assert_eq!(nanos(text), None);
        }
    }
}
