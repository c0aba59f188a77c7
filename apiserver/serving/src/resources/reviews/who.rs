//! Reviews of identities: TokenReview and SelfSubjectReview.

use ::access::{Authenticator, User};
use chrono::{DateTime, Utc};
use machinery::status::Status;
use registry::Served;
use serde_json::{Value, json};

use super::messages::user_info;

/// Returns the user of the token in `review`.
pub(crate) fn token_review(authenticator: &dyn Authenticator, mut review: Value) -> Result<Value, Status> {
    let token = review["spec"]["token"].as_str().unwrap_or_default();
    if token.is_empty() {
        return Err(Status::bad_request("token is required for TokenReview in authentication"));
    }
    let audiences = review["spec"]["audiences"].as_array().into_iter().flatten();
    let audiences: Vec<String> = audiences.filter_map(Value::as_str).map(str::to_owned).collect();
    review["status"] = match authenticator.review(token, &audiences) {
        Ok((user, good)) => json!({"authenticated": true, "user": user_info(&user), "audiences": good}),
        Err(why) => json!({"user": {}, "error": why}),
    };
    Ok(review)
}

/// Returns the user as which the server identified the requester.
pub(crate) fn self_review(served: &Served, user: &User, now: DateTime<Utc>) -> Value {
    json!({
        "kind": served.definition.kind, "apiVersion": served.api_version(),
        "metadata": {"creationTimestamp": machinery::clock::rfc3339(now)},
        "status": {"userInfo": user_info(user)},
    })
}
