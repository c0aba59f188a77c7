//! Authentication of requests.

use std::borrow::Cow;

use http::header::AUTHORIZATION;
use http::request::Parts;
use machinery::status::Status;

use kinds::user::User;

use crate::certificate::InvalidCertificate;
use crate::socket;
use crate::tokens::TokenUse;

/// Finds the user behind a request.
pub trait Authenticator: Send + Sync + 'static {
    /// Returns the user; `system:anonymous` if the request has no credentials.
    ///
    /// # Errors
    /// 401 if the request has invalid credentials.
    fn authenticate(&self, request: &Parts) -> Result<User, Status>;

    /// Returns the user of a bearer token, and those of `audiences` for which the token is valid.
    ///
    /// # Errors
    /// Says in the words of kube-apiserver's TokenReview why the token is invalid.
    fn review(&self, _token: &str, _audiences: &[String]) -> Result<(User, Vec<String>), String> {
        Err(INVALID_TOKEN.to_owned())
    }

    /// Takes the uses of tokens in Secrets that no label says yet.
    fn take_uses(&self) -> Vec<TokenUse> {
        Vec::new()
    }
}

/// The error for an unknown token.
pub const INVALID_TOKEN: &str = "invalid bearer token";

/// Takes the identity from the request's extensions (client certificate or in-process); every token is
/// invalid.
#[derive(Debug, Default, Clone, Copy)]
pub struct Identities;

impl Authenticator for Identities {
    fn authenticate(&self, request: &Parts) -> Result<User, Status> {
        if let Some(user) = request.extensions.get::<User>() {
            return Ok(user.clone());
        }
        match bearer_token(request)? {
            Some(_) => Err(Status::unauthorized()),
            None => without_token(request),
        }
    }
}

/// Returns the user of a request that has neither a valid certificate nor a token: nobody, unless it has a certificate that is not valid.
///
/// # Errors
/// 401.
pub(crate) fn without_token(request: &Parts) -> Result<User, Status> {
    match request.extensions.get::<InvalidCertificate>() {
        Some(_) => Err(Status::unauthorized()),
        None => Ok(User::anonymous()),
    }
}

/// Returns the bearer token of a request, also one among the protocols of a WebSocket. The scheme is compared
/// case-insensitively; other schemes and empty tokens count as no credentials.
///
/// # Errors
/// 400 for more than one `Authorization` header, since proxies and this server might pick different ones. 401
/// for a token that is not ASCII, which no valid token is.
pub fn bearer_token(request: &Parts) -> Result<Option<Cow<'_, str>>, Status> {
    match authorization(request)? {
        Some(token) => Ok(Some(Cow::Borrowed(token))),
        None => Ok(socket::token(&request.headers)?.map(Cow::Owned)),
    }
}

fn authorization(request: &Parts) -> Result<Option<&str>, Status> {
    let mut values = request.headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Status::bad_request("the header authorization is repeated"));
    }
    let value = value.as_bytes().trim_ascii();
    let Some(at) = value.iter().position(|byte| *byte == b' ') else { return Ok(None) };
    let (scheme, rest) = value.split_at(at);
    if !scheme.eq_ignore_ascii_case(b"bearer") {
        return Ok(None);
    }
    let token = rest.get(1..).unwrap_or_default().split(|byte| *byte == b' ').next().unwrap_or_default();
    let token = std::str::from_utf8(token).ok().filter(|token| token.is_ascii());
    let token = token.ok_or_else(Status::unauthorized)?;
    Ok((!token.is_empty()).then_some(token))
}
