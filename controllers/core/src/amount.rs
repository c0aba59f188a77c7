//! Fields that hold a number or a percentage.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// Resolves a number, or a percentage of `total`; `None` for any other text. Negative amounts count as 0.
pub fn resolve(amount: &IntOrString, total: i32, round_up: bool) -> Option<i32> {
    match amount {
        IntOrString::Int(number) => Some((*number).max(0)),
        IntOrString::String(text) => {
            let percent: i64 = text.strip_suffix('%')?.parse().ok()?;
            let product = i64::from(total).saturating_mul(percent.max(0));
            let rounded = if round_up { product.saturating_add(99) / 100 } else { product / 100 };
            Some(i32::try_from(rounded).unwrap_or(i32::MAX))
        }
    }
}

/// Returns an amount as it is written.
pub fn text(amount: &IntOrString) -> String {
    match amount {
        IntOrString::Int(number) => number.to_string(),
        IntOrString::String(text) => text.clone(),
    }
}
