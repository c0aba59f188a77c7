//! Bearer tokens: service account tokens and bootstrap tokens.

pub mod bootstrap;
mod claims;
mod jwt;
mod secrets;
mod service_account;
mod uses;

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use machinery::cache::Cache;
use machinery::clock::Clock;
use machinery::random::Random;
use machinery::status::Status;
use pki::TokenKeys;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use store::{Key, Store};

pub use claims::{Bound, Claims, Reference};
pub use uses::{LAST_USED, TokenUse};

use crate::authenticate::{Authenticator, INVALID_TOKEN, bearer_token, without_token};
use crate::rbac::quoted;
use kinds::user::User;

/// The number of verified tokens that are cached.
const REMEMBERED_TOKENS: usize = 4096;

/// Default issuer and audience of tokens, the same that installers choose for kube-apiserver.
pub const DEFAULT_ISSUER: &str = "https://kubernetes.default.svc";

/// Authenticates by the identity in a request's extensions, by service account tokens and by bootstrap
/// tokens; issues service account tokens. Clones share all state.
#[derive(Clone)]
pub struct Tokens(Arc<Inner>);

pub(super) struct Inner {
    store: Store,
    clock: Clock,
    random: Random,
    keys: TokenKeys,
    issuer: String,
    /// URL at which the public keys are published.
    jwks_uri: String,
    /// Claims of tokens whose signature was verified, by the token's hash.
    remembered: Cache<[u8; 32], Arc<Signed>>,
    uses: uses::Uses,
}

/// The claims of a token that this server signed.
enum Signed {
    /// Those of a token that expires.
    Account(Box<Claims>),
    /// Those of a token that stands in a Secret.
    InSecret(secrets::Claims),
}

/// Why a token is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The token is not one of this server.
    Unknown,
    /// The token was issued by this server but is not valid, for this reason.
    Refused(String),
}

fn refused<T>(why: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::Refused(why.into()))
}

/// Returns those of the `asked` audiences that are audiences of a token.
///
/// # Errors
/// None of the asked audiences is one of the token.
fn valid_for(own: &[String], asked: &[String]) -> Result<Vec<String>, Refusal> {
    let good: Vec<String> = own.iter().filter(|one| asked.contains(one)).cloned().collect();
    if good.is_empty() {
        let (own, asked) = (quoted(own), quoted(asked));
        return refused(format!("token audiences {own} is invalid for the target audiences {asked}"));
    }
    Ok(good)
}

impl Tokens {
    /// Creates tokens signed with `keys`; accounts and Secrets are looked up in `store`.
    pub fn new(store: Store, clock: Clock, random: Random, keys: TokenKeys) -> Self {
        Self::with_issuer(store, clock, random, keys, DEFAULT_ISSUER)
    }

    /// Like [`Tokens::new`], with the URL `issuer` as issuer.
    pub fn with_issuer(store: Store, clock: Clock, random: Random, keys: TokenKeys, issuer: &str) -> Self {
        let issuer = issuer.to_owned();
        let jwks_uri = format!("{}{JWKS_PATH}", issuer.trim_end_matches('/'));
        let remembered = Cache::new(REMEMBERED_TOKENS);
        let uses = uses::Uses::default();
        Self(Arc::new(Inner { store, clock, random, keys, issuer, jwks_uri, remembered, uses }))
    }

    /// Returns the default audiences of tokens: the API server.
    pub fn audiences(&self) -> Vec<String> {
        vec![self.0.issuer.clone()]
    }

    /// Signs a token with these claims.
    ///
    /// # Errors
    /// 500 if signing fails.
    pub fn issue(&self, claims: &Claims) -> Result<String, Status> {
        self.token(&claims.to_value())
    }

    fn token(&self, claims: &Value) -> Result<String, Status> {
        jwt::sign(self.0.keys.signing(), claims)
            .map_err(|why| Status::internal(format!("failed to generate token: {why}")))
    }

    /// Returns the claims of a service account token that is valid for `seconds` from now on.
    pub fn claims(&self, audiences: Vec<String>, seconds: i64, account: Bound) -> Claims {
        let now = self.0.clock.now().timestamp();
        Claims::new(&self.0.issuer, audiences, now, seconds, self.0.random.uid(), account)
    }

    /// Returns the document at `/.well-known/openid-configuration`.
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

    /// Returns the document at `/openid/v1/jwks` with the public keys.
    pub fn jwks(&self) -> Value {
        let keys: Vec<&Value> = self.0.keys.verifying().iter().map(pki::VerifyingKey::jwk).collect();
        json!({ "keys": keys })
    }

    /// Returns the user of a token, and those of `audiences` for which the token is valid.
    fn verify(&self, token: &str, audiences: &[String]) -> Result<(User, Vec<String>), Refusal> {
        if let Some((id, secret)) = bootstrap::split(token) {
            let user = self.0.bootstrap(id, secret).ok_or(Refusal::Unknown)?;
            let good: Vec<String> =
                self.audiences().into_iter().filter(|one| audiences.contains(one)).collect();
            return if good.is_empty() { Err(Refusal::Unknown) } else { Ok((user, good)) };
        }
        match self.0.signed(token).ok_or(Refusal::Unknown)?.as_ref() {
            Signed::Account(claims) => self.0.service_account(claims, audiences),
            Signed::InSecret(claims) => secrets::verify(&self.0, token, claims, audiences),
        }
    }
}

/// The path of the public keys.
pub const JWKS_PATH: &str = "/openid/v1/jwks";
/// The path of [`Tokens::discovery`].
pub const DISCOVERY_PATH: &str = "/.well-known/openid-configuration";

impl Inner {
    /// Returns the claims of a token that this server signed. Each signature is verified once.
    fn signed(&self, token: &str) -> Option<Arc<Signed>> {
        let hash: [u8; 32] = Sha256::digest(token).into();
        if let Some(known) = self.remembered.get(&hash) {
            return Some(known);
        }
        let parsed = jwt::parse(token)?;
        let signed = match secrets::Claims::read(&parsed.payload) {
            Some(claims) => Signed::InSecret(claims),
            None => Signed::Account(Box::new(Claims::read(&parsed.payload, &self.issuer)?)),
        };
        if !parsed.is_signed_by(self.keys.verifying()) {
            return None;
        }
        let signed = Arc::new(signed);
        self.remembered.keep(hash, signed.clone());
        Some(signed)
    }

    /// Returns a stored object of the core group.
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
        let Some(token) = bearer_token(request)? else { return without_token(request) };
        match self.verify(&token, &self.audiences()) {
            Ok((user, _)) => Ok(user),
            Err(refusal) => {
                if let Refusal::Refused(why) = refusal {
                    tracing::debug!(why, "a token was refused");
                }
                Err(Status::unauthorized())
            }
        }
    }

    fn take_uses(&self) -> Vec<TokenUse> {
        self.0.uses.take()
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
