//! Which authorities and keys of a control plane are there.

use super::observed::Observed;
use crate::certificates::{self, Purpose};

/// The authorities and keys that are missing.
pub fn missing_certificates(observed: &Observed) -> Vec<Purpose> {
    let config = observed.cluster_configuration();
    certificates::purposes(&config)
        .into_iter()
        .filter(|purpose| !observed.secrets.contains_key(purpose))
        .collect()
}

/// Those of them that the user has to give.
pub fn missing_given_certificates(observed: &Observed) -> Vec<Purpose> {
    let config = observed.cluster_configuration();
    let missing = missing_certificates(observed);
    missing.into_iter().filter(|purpose| certificates::is_given(*purpose, &config)).collect()
}

/// Whether all authorities and keys are there.
pub fn certificates_complete(observed: &Observed) -> bool {
    missing_certificates(observed).is_empty()
}
