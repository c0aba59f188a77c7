//! Numbers that may be written as texts.

use std::num::IntErrorKind;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// Returns the number as Kubernetes' `IntValue` does: a text that is no decimal number is 0, and one with too many digits the farthest
/// number that there is.
pub fn int_value(value: &IntOrString) -> i64 {
    let text = match value {
        IntOrString::Int(number) => return i64::from(*number),
        IntOrString::String(text) => text,
    };
    match text.parse() {
        Ok(number) => number,
        Err(error) => match error.kind() {
            IntErrorKind::PosOverflow => i64::MAX,
            IntErrorKind::NegOverflow => i64::MIN,
            _ => 0,
        },
    }
}
