//! Authorization of requests for metrics with TokenReviews and SubjectAccessReviews, as in controller-runtime's metrics server.

use http::header::AUTHORIZATION;
use http::{HeaderMap, StatusCode};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};

/// Authenticates and authorizes requests through the API server of the cluster.
pub(super) struct Authorizer {
    tokens: Api<TokenReview>,
    reviews: Api<SubjectAccessReview>,
}

impl Authorizer {
    /// Creates an authorizer. `client` must be allowed to create TokenReviews and SubjectAccessReviews.
    pub(super) fn new(client: Client) -> Self {
        Self { tokens: Api::all(client.clone()), reviews: Api::all(client) }
    }

    /// Checks that the user of the bearer token in `headers` may get `path`. Otherwise the error is the status of the response.
    pub(super) async fn check(&self, headers: &HeaderMap, path: &str) -> Result<(), StatusCode> {
        let user = self.user(headers).await.map_err(unavailable)?.ok_or(StatusCode::UNAUTHORIZED)?;
        let allowed = self.may_get(user, path).await.map_err(unavailable)?;
        if allowed { Ok(()) } else { Err(StatusCode::FORBIDDEN) }
    }

    /// Returns the user of the bearer token, or `None` if there is no token or the cluster does not accept it.
    async fn user(&self, headers: &HeaderMap) -> kube::Result<Option<UserInfo>> {
        let header = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let Some(token) = header.and_then(|text| text.strip_prefix("Bearer ")) else { return Ok(None) };
        let spec = TokenReviewSpec { token: token.trim().to_owned(), ..TokenReviewSpec::default() };
        let review = TokenReview { spec, ..TokenReview::default() };
        let status = self.tokens.create(&PostParams::default(), &review).await?.status.unwrap_or_default();
        Ok(status.user.filter(|_| status.authenticated == Some(true)))
    }

    async fn may_get(&self, user: UserInfo, path: &str) -> kube::Result<bool> {
        let attributes = NonResourceAttributes { path: Some(path.to_owned()), verb: Some("get".to_owned()) };
        let spec = SubjectAccessReviewSpec {
            user: user.username,
            groups: user.groups,
            uid: user.uid,
            extra: user.extra,
            non_resource_attributes: Some(attributes),
            ..SubjectAccessReviewSpec::default()
        };
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let status = self.reviews.create(&PostParams::default(), &review).await?.status;
        Ok(status.is_some_and(|status| status.allowed))
    }
}

fn unavailable(error: kube::Error) -> StatusCode {
    tracing::warn!(%error, "cannot authorize a request for metrics");
    StatusCode::INTERNAL_SERVER_ERROR
}
