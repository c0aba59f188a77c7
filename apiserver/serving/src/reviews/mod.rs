//! Kinds that are answered and never stored: reviews of tokens and of access, and token requests.

mod access;
mod spec;
mod token_request;
mod who;

use bytes::Bytes;
use machinery::field::FieldError;
use machinery::status::Status;
use registry::Served;
use serde_json::{Value, json};

pub(crate) use token_request::{TOKEN, TokenRequests};

use crate::answer::Answer;
use crate::handle::{Asked, Reply};
use crate::input;
use crate::negotiate::Convert;
use crate::server::Shared;
use crate::transform::not_a_list;
use crate::writes::apply_options;

impl Shared {
    /// Answers the creation of a review.
    pub(crate) async fn review<B>(
        &self,
        asked: &Asked<'_>,
        served: &Served,
        body: B,
        warnings: &mut Vec<String>,
    ) -> Result<Reply, Status>
    where
        B: http_body::Body,
        B::Data: Into<Bytes>,
    {
        let media = asked.media(served, false)?;
        let format = input::format(&asked.parts.headers)?;
        let body = self.read(body).await?;
        let mut context = asked.context();
        apply_options(&mut context, asked.query.write_options("CreateOptions", false)?);
        let namespace = asked.target.namespace();
        let work = async {
            let input = self.object(&body, format, served, &mut context)?;
            self.registry.transient(&mut context, served, namespace, "", input)
        };
        let object = self.aside(&asked.user.name, body.len(), work).await;
        warnings.append(&mut context.warnings);
        let object = object?;
        if matches!(media.convert, Some(Convert::PartialObjectMetadataList(_))) {
            return Err(not_a_list(served));
        }
        if served.definition.kind == "Binding" {
            let bound = crate::pods::bind(&self.registry, &context, namespace, &object).await;
            warnings.append(&mut context.warnings);
            return bound.map(|()| Answer::value(201, &crate::pods::success(), media).into());
        }
        let answer = self.reviewed(asked, served, object)?;
        Ok(Answer::value(201, &answer, media).into())
    }

    fn reviewed(&self, asked: &Asked<'_>, served: &Served, object: Value) -> Result<Value, Status> {
        let (authorizer, authenticator) = (&*self.options.authorizer, &*self.options.authenticator);
        match served.definition.kind.as_str() {
            "TokenReview" => who::token_review(authenticator, object),
            "SelfSubjectReview" => Ok(who::self_review(served, &asked.user, self.clock.now())),
            "SelfSubjectRulesReview" => access::rules_review(authorizer, served, &asked.user, &object),
            kind => access::access_review(authorizer, kind, &asked.user, object),
        }
    }
}

/// Returns 422 for a token request.
fn invalid_request(name: &str, errors: &[FieldError]) -> Status {
    Status::invalid("authentication.k8s.io", "TokenRequest", name, errors)
}

/// Returns 422 for a review; kube-apiserver names no kind in it.
fn invalid(errors: &[FieldError]) -> Result<(), Status> {
    if errors.is_empty() { Ok(()) } else { Err(Status::invalid(spec::GROUP, "", "", errors)) }
}

/// Returns the user as `UserInfo`.
fn user_info(user: &::access::User) -> Value {
    let mut info = json!({"username": user.name});
    if !user.uid.is_empty() {
        info["uid"] = user.uid.as_str().into();
    }
    if !user.groups.is_empty() {
        info["groups"] = user.groups.clone().into();
    }
    if !user.extra.is_empty() {
        info["extra"] = json!(user.extra);
    }
    info
}
