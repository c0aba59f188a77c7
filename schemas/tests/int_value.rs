//! Tests of numbers that may be written as texts.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemas::int_value::int_value;

#[test]
fn texts_count_as_their_numbers() {
    assert_eq!(int_value(&IntOrString::Int(-3)), -3);
    for (text, number) in [
        ("1", 1),
        ("+1", 1),
        ("01", 1),
        ("-2", -2),
        ("0", 0),
        ("", 0),
        ("0\"", 0),
        (" 1", 0),
        ("50%", 0),
        ("1.0", 0),
        ("1_0", 0),
        ("99999999999999999999", i64::MAX),
        ("-99999999999999999999", i64::MIN),
    ] {
        assert_eq!(int_value(&IntOrString::String(text.to_owned())), number, "{text:?}");
    }
}
