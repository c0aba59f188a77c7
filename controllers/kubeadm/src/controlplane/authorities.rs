//! The existing and the missing authorities and keys of a control plane.

use chrono::{DateTime, Duration, Utc};
use machinery::clock::rfc3339;

use super::observed::{Kubeconfig, Observed};
use crate::certificates::{self, PRIVATE_KEY, Purpose};

/// A kubeconfig is reissued when its certificate is valid for less than this many days.
pub const RENEW_KUBECONFIG_DAYS: i64 = 365 / 2;

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

/// Returns whether all authorities and keys exist and can be used.
pub fn certificates_complete(observed: &Observed) -> bool {
    missing_certificates(observed).is_empty() && trouble(observed).is_empty()
}

/// Returns the reasons why the existing authorities and keys are not enough.
pub fn trouble(observed: &Observed) -> Vec<String> {
    let mut all = observed.unusable.clone();
    if observed.kubeconfig == Kubeconfig::Missing && observed.keyless.contains(&Purpose::ClusterAuthority) {
        let cluster = observed.cluster_name();
        all.push(format!(
            "Secret {} has no private key ({PRIVATE_KEY}), so Secret {cluster}-kubeconfig can't be created: create it",
            Purpose::ClusterAuthority.secret_name(cluster)
        ));
    }
    all
}

/// Returns the reason why the kubeconfig will expire, or has no client certificate, and is not renewed.
pub fn expiring_kubeconfig(observed: &Observed, now: DateTime<Utc>) -> Option<String> {
    if observed.kubeconfig == Kubeconfig::Broken {
        let cluster = observed.cluster_name();
        return Some(format!(
            "Secret {cluster}-kubeconfig has no kubeconfig with a client certificate under the key value: delete the Secret, and it is \
             created again"
        ));
    }
    let Kubeconfig::Ours(expires) = observed.kubeconfig else { return None };
    let is_due = is_renewal_due(expires, now) && observed.keyless.contains(&Purpose::ClusterAuthority);
    let cluster = observed.cluster_name();
    is_due.then(|| {
        format!(
            "Secret {cluster}-kubeconfig expires at {}, and can't be renewed because Secret {} has no private key \
             ({PRIVATE_KEY}): renew it",
            rfc3339(expires),
            Purpose::ClusterAuthority.secret_name(cluster)
        )
    })
}

/// Returns whether a kubeconfig whose certificate expires then must be renewed now.
pub fn is_renewal_due(expires: DateTime<Utc>, now: DateTime<Utc>) -> bool {
    expires - now < Duration::days(RENEW_KUBECONFIG_DAYS)
}
