//! Who may read metrics: the cluster is asked, as controller-runtime's metrics server does.

use http::header::AUTHORIZATION;
use http::{HeaderMap, StatusCode};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};

/// Asks the cluster who sent a request, and whether they may.
pub(super) struct Authorizer {
    tokens: Api<TokenReview>,
    reviews: Api<SubjectAccessReview>,
}

impl Authorizer {
    /// Asks with `client`, which must be allowed to create reviews.
    pub(super) fn new(client: Client) -> Self {
        Self { tokens: Api::all(client.clone()), reviews: Api::all(client) }
    }

    /// Whether the sender of `headers` may get `path`: the status to refuse with, otherwise.
    pub(super) async fn check(&self, headers: &HeaderMap, path: &str) -> Result<(), StatusCode> {
        let user = self.user(headers).await.map_err(unavailable)?.ok_or(StatusCode::UNAUTHORIZED)?;
        let allowed = self.may_get(user, path).await.map_err(unavailable)?;
        if allowed { Ok(()) } else { Err(StatusCode::FORBIDDEN) }
    }

    /// Who has the bearer token; `None` where there is none or nobody has it.
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
    tracing::warn!(%error, "the cluster does not say who may read metrics");
    StatusCode::INTERNAL_SERVER_ERROR
}
