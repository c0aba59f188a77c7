//! Bearer tokens: those of service accounts, and bootstrap tokens.

mod bootstrap;
mod claims;
mod jwt;
mod service_account;

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use machinery::clock::Clock;
use machinery::random::Random;
use machinery::status::Status;
use parking_lot::Mutex;
use pki::TokenKeys;
use serde_json::{Value, json};
use store::{Key, Store};

pub use claims::{Bound, Claims, Reference};

use crate::authenticate::{Authenticator, INVALID_TOKEN, bearer_token};
use crate::user::User;

/// Tokens whose signature is remembered as good.
const REMEMBERED_TOKENS: usize = 4096;

/// Who issues tokens and for whom, unless told otherwise: what kube-apiserver's installers choose.
pub const DEFAULT_ISSUER: &str = "https://kubernetes.default.svc";

/// Knows identities in a request's extensions, tokens of service accounts and bootstrap tokens; issues tokens of service
/// accounts. Clones share everything.
#[derive(Clone)]
pub struct Tokens(Arc<Inner>);

pub(super) struct Inner {
    store: Store,
    clock: Clock,
    random: Random,
    keys: TokenKeys,
    issuer: String,
    /// Where the keys are published.
    jwks_uri: String,
    /// By the hash of the token: its claims, once its signature was found good.
    remembered: Mutex<HashMap<[u8; 32], Arc<Claims>>>,
}

/// Why a token is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It is none of ours.
    Unknown,
    /// It was ours, but is not good (any more), for this reason.
    Refused(String),
}

impl Tokens {
    /// Tokens that are signed with `keys`; accounts and Secrets are looked up in `store`.
    pub fn new(store: Store, clock: Clock, random: Random, keys: TokenKeys) -> Self {
        Self::with_issuer(store, clock, random, keys, DEFAULT_ISSUER)
    }

    /// As [`Tokens::new`], issued by `issuer` (a URL).
    pub fn with_issuer(store: Store, clock: Clock, random: Random, keys: TokenKeys, issuer: &str) -> Self {
        let issuer = issuer.to_owned();
        let jwks_uri = format!("{}{JWKS_PATH}", issuer.trim_end_matches('/'));
        Self(Arc::new(Inner { store, clock, random, keys, issuer, jwks_uri, remembered: Mutex::default() }))
    }

    /// The audiences of a token that names none: the API server's.
    pub fn audiences(&self) -> Vec<String> {
        vec![self.0.issuer.clone()]
    }

    /// Signs a token with these claims.
    ///
    /// # Errors
    /// 500 when signing fails.
    pub fn issue(&self, claims: &Claims) -> Result<String, Status> {
        jwt::sign(self.0.keys.signing(), &claims.to_value())
            .map_err(|why| Status::internal(format!("failed to generate token: {why}")))
    }

    /// The claims of a token for a service account, valid from now on for so many seconds.
    pub fn claims(&self, audiences: Vec<String>, seconds: i64, account: Bound) -> Claims {
        let now = self.0.clock.now().timestamp();
        Claims::new(&self.0.issuer, audiences, now, seconds, self.0.random.uid(), account)
    }

    /// `/.well-known/openid-configuration`
    pub fn discovery(&self) -> Value {
        let mut algorithms: Vec<&str> =
            self.0.keys.verifying().iter().map(|key| key.algorithm().name()).collect();
        algorithms.sort_unstable();
        algorithms.dedup();
        json!({
            "issuer": self.0.issuer, "jwks_uri": self.0.jwks_uri, "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"], "id_token_signing_alg_values_supported": algorithms,
        })
    }

    /// `/openid/v1/jwks`: the public keys.
    pub fn jwks(&self) -> Value {
        let keys: Vec<&Value> = self.0.keys.verifying().iter().map(pki::VerifyingKey::jwk).collect();
        json!({ "keys": keys })
    }

    /// Who is behind a token, and for which of `audiences` it is good.
    fn verify(&self, token: &str, audiences: &[String]) -> Result<(User, Vec<String>), Refusal> {
        if let Some((id, secret)) = bootstrap::split(token) {
            let user = self.0.bootstrap(id, secret).ok_or(Refusal::Unknown)?;
            let good: Vec<String> =
                self.audiences().into_iter().filter(|one| audiences.contains(one)).collect();
            return if good.is_empty() { Err(Refusal::Unknown) } else { Ok((user, good)) };
        }
        self.0.service_account(token, audiences)
    }
}

/// Where the public keys are served.
pub const JWKS_PATH: &str = "/openid/v1/jwks";
/// Where [`Tokens::discovery`] is served.
pub const DISCOVERY_PATH: &str = "/.well-known/openid-configuration";

impl Inner {
    /// A stored object of the core group.
    fn object(&self, resource: &str, namespace: Option<&str>, name: &str) -> Option<Value> {
        let key = Key::new("", resource, namespace, name).ok()?;
        let text: Bytes = self.store.get(&key)?.value.clone();
        serde_json::from_slice(&text).ok()
    }
}

impl Authenticator for Tokens {
    fn authenticate(&self, request: &Parts) -> Result<User, Status> {
        if let Some(user) = request.extensions.get::<User>() {
            return Ok(user.clone());
        }
        let Some(token) = bearer_token(request)? else { return Ok(User::anonymous()) };
        match self.verify(token, &self.audiences()) {
            Ok((user, _)) => Ok(user),
            Err(refusal) => {
                if let Refusal::Refused(why) = refusal {
                    tracing::debug!(why, "a token was refused");
                }
                Err(Status::unauthorized())
            }
        }
    }

    fn review(&self, token: &str, audiences: &[String]) -> Result<(User, Vec<String>), String> {
        let own = self.audiences();
        let audiences = if audiences.is_empty() { &own } else { audiences };
        self.verify(token, audiences).map_err(|refusal| match refusal {
            Refusal::Unknown => INVALID_TOKEN.to_owned(),
            Refusal::Refused(why) => format!("[{INVALID_TOKEN}, {why}]"),
        })
    }
}
