//! The existing and the missing authorities and keys of a control plane.

use super::observed::Observed;
use crate::certificates::{self, Purpose};

/// Returns the purposes of the missing authorities and keys.
pub fn missing_certificates(observed: &Observed) -> Vec<Purpose> {
    let config = observed.cluster_configuration();
    certificates::purposes(&config)
        .into_iter()
        .filter(|purpose| !observed.secrets.contains_key(purpose))
        .collect()
}

/// Returns the missing authorities and keys that the user must provide.
pub fn missing_given_certificates(observed: &Observed) -> Vec<Purpose> {
    let config = observed.cluster_configuration();
    let missing = missing_certificates(observed);
    missing.into_iter().filter(|purpose| certificates::is_given(*purpose, &config)).collect()
}

/// Returns whether all authorities and keys exist.
pub fn certificates_complete(observed: &Observed) -> bool {
    missing_certificates(observed).is_empty()
}
