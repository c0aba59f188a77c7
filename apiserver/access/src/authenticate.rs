//! Finds out who asks.

use http::header::AUTHORIZATION;
use http::request::Parts;
use machinery::status::Status;

use crate::user::User;

/// Finds the identity behind a request.
pub trait Authenticator: Send + Sync + 'static {
    /// The user, `system:anonymous` when the request carries no credentials.
    ///
    /// # Errors
    /// 401 when it carries credentials that are not valid.
    fn authenticate(&self, request: &Parts) -> Result<User, Status>;

    /// Who is behind a bearer token that is meant for one of `audiences`, and for which of them it is good.
    ///
    /// # Errors
    /// Why the token is not valid, in the words of kube-apiserver's TokenReview.
    fn review(&self, _token: &str, _audiences: &[String]) -> Result<(User, Vec<String>), String> {
        Err(INVALID_TOKEN.to_owned())
    }
}

/// What is said of a token that nobody knows.
pub const INVALID_TOKEN: &str = "invalid bearer token";

/// The identity in the request's extensions (client certificate or in-process); no token is valid.
#[derive(Debug, Default, Clone, Copy)]
pub struct Identities;

impl Authenticator for Identities {
    fn authenticate(&self, request: &Parts) -> Result<User, Status> {
        if let Some(user) = request.extensions.get::<User>() {
            return Ok(user.clone());
        }
        if bearer_token(request).is_some() {
            return Err(Status::unauthorized());
        }
        Ok(User::anonymous())
    }
}

/// The bearer token of a request. The scheme is compared without case; other schemes and empty tokens are
/// no credentials.
pub fn bearer_token(request: &Parts) -> Option<&str> {
    let value = request.headers.get(AUTHORIZATION)?.to_str().ok()?.trim();
    let (scheme, rest) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let token = rest.split(' ').next().unwrap_or_default();
    (!token.is_empty()).then_some(token)
}
