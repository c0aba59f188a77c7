//! The order of Kubernetes versions, with their build metadata.

use std::cmp::Ordering;

use schemas::version::Version;
use semver::BuildMetadata;

/// How one version is to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// It is lower.
    Lower,
    /// It is the same.
    Same,
    /// It is higher.
    Higher,
    /// They differ in words of their build metadata, which say nothing about which one is newer.
    Different,
}

impl From<Ordering> for Order {
    fn from(ordering: Ordering) -> Self {
        match ordering {
            Ordering::Less => Self::Lower,
            Ordering::Equal => Self::Same,
            Ordering::Greater => Self::Higher,
        }
    }
}

/// Compares versions by precedence, then by build metadata: numbers by value, and before words; of two that begin alike, the longer one is higher.
///
/// Source: `version.Compare` of Cluster API's `util/version`, with build tags.
pub fn compare(a: &Version, b: &Version) -> Order {
    match a.cmp_precedence(b) {
        Ordering::Equal => builds(&a.build, &b.build),
        other => other.into(),
    }
}

fn builds(a: &BuildMetadata, b: &BuildMetadata) -> Order {
    let identifiers = |build: &'_ BuildMetadata| -> Vec<String> {
        build.as_str().split('.').filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let (a, b) = (identifiers(a), identifiers(b));
    for (a, b) in a.iter().zip(&b) {
        match identifier(a, b) {
            Order::Same => {}
            other => return other,
        }
    }
    a.len().cmp(&b.len()).into()
}

fn identifier(a: &str, b: &str) -> Order {
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    // Numbers may be longer than any integer, so they are compared as text without leading zeros.
    let digits = |text: &'_ str| text.trim_start_matches('0').to_owned();
    match (number(a), number(b)) {
        (true, false) => Order::Lower,
        (false, true) => Order::Higher,
        (true, true) => {
            let (a, b) = (digits(a), digits(b));
            a.len().cmp(&b.len()).then_with(|| a.cmp(&b)).into()
        }
        (false, false) if a == b => Order::Same,
        (false, false) => Order::Different,
    }
}
