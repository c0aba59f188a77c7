//! Verification of service account tokens: the times, and that the bound objects still exist.
//!
//! The checks and their messages are those of `k8s.io/kubernetes/pkg/serviceaccount`.

use std::collections::BTreeMap;

use machinery::meta;
use serde_json::Value;

use super::claims::{Claims, Reference};
use super::{Inner, Refusal, refused, valid_for};
use crate::impersonate::NODE_NAME;
use kinds::user::{User, service_account_groups};

/// Tolerated clock skew in seconds.
const LEEWAY_SECONDS: i64 = 60;

impl Inner {
    /// Returns the user of a token with these claims, and those of `audiences` for which it is valid.
    pub(super) fn service_account(
        &self,
        claims: &Claims,
        audiences: &[String],
    ) -> Result<(User, Vec<String>), Refusal> {
        let good = valid_for(&claims.aud, audiences)?;
        let now = self.clock.now().timestamp();
        if now > claims.exp.saturating_add(LEEWAY_SECONDS) {
            return refused("service account token has expired");
        }
        if now.saturating_add(LEEWAY_SECONDS) < claims.nbf {
            return refused("service account token is not valid yet");
        }
        if now.saturating_add(LEEWAY_SECONDS) < claims.iat {
            return refused("service account token is issued in the future");
        }
        self.check_account(claims, now)?;
        self.check_bound(claims, now)?;
        Ok((user(claims), good))
    }

    fn check_account(&self, claims: &Claims, now: i64) -> Result<(), Refusal> {
        let (namespace, account) = (&claims.bound.namespace, &claims.bound.serviceaccount);
        let Some(found) = self.object("serviceaccounts", Some(namespace), &account.name) else {
            return refused(format!("serviceaccounts \"{}\" not found", account.name));
        };
        if is_gone(&found, now) {
            return refused(format!("service account {namespace}/{} has been deleted", account.name));
        }
        let uid = meta::uid(&found);
        if uid != account.uid {
            return refused(format!("service account UID ({uid}) does not match claim ({})", account.uid));
        }
        Ok(())
    }

    fn check_bound(&self, claims: &Claims, now: i64) -> Result<(), Refusal> {
        let bound = &claims.bound;
        let namespace = Some(bound.namespace.as_str());
        let check = |resource: &str, namespace, reference: &Reference, what: &str, claim: &str| {
            let found = self.object(resource, namespace, &reference.name);
            let Some(found) = found.filter(|found| !is_gone(found, now)) else {
                return refused("service account token has been invalidated");
            };
            let uid = meta::uid(&found);
            if uid == reference.uid {
                return Ok(());
            }
            refused(format!(
                "{what} UID ({uid}) does not match service account {claim} ref claim ({})",
                reference.uid
            ))
        };
        if let Some(secret) = &bound.secret {
            check("secrets", namespace, secret, "secret", "secret")?;
        }
        if let Some(pod) = &bound.pod {
            check("pods", namespace, pod, "pod", "pod")?;
        }
        match &bound.node {
            // A Pod's Node is only information in the token and is not checked.
            Some(node) if bound.pod.is_none() => check("nodes", None, node, "node", "node"),
            _ => Ok(()),
        }
    }
}

/// Returns whether an object has been in deletion for longer than the clock skew.
fn is_gone(object: &Value, now: i64) -> bool {
    let deleted = meta::text(object, &["metadata", "deletionTimestamp"]);
    machinery::clock::parse_rfc3339(deleted)
        .is_some_and(|deleted| deleted.timestamp() < now.saturating_sub(LEEWAY_SECONDS))
}

fn user(claims: &Claims) -> User {
    let bound = &claims.bound;
    let mut extra = BTreeMap::new();
    let mut tell = |key: &str, value: &str| {
        if !value.is_empty() {
            extra.insert(key.to_owned(), vec![value.to_owned()]);
        }
    };
    if !claims.jti.is_empty() {
        tell("authentication.kubernetes.io/credential-id", &format!("JTI={}", claims.jti));
    }
    if let Some(pod) = &bound.pod {
        tell("authentication.kubernetes.io/pod-name", &pod.name);
        tell("authentication.kubernetes.io/pod-uid", &pod.uid);
    }
    if let Some(node) = &bound.node {
        tell(NODE_NAME, &node.name);
        tell("authentication.kubernetes.io/node-uid", &node.uid);
    }
    let mut user = User::new(claims.sub.as_str(), service_account_groups(&bound.namespace));
    user.uid.clone_from(&bound.serviceaccount.uid);
    user.extra = extra;
    user
}
