//! Handler of the creation of a review.

use machinery::status::Status;
use registry::Served;
use serde_json::Value;

use super::{access, who};
use crate::request::asked::Asked;
use crate::request::input;
use crate::request::read_body::RequestBody;
use crate::request::token_uses;
use crate::request::write_options::apply_options;
use crate::resources::writes::object;
use crate::response::answer::Answer;
use crate::response::negotiate::Convert;
use crate::response::reply::Reply;
use crate::response::transform::not_a_list;
use crate::services::Services;

/// Answers the creation of a review.
pub(crate) async fn review(
    services: &Services,
    asked: &Asked<'_>,
    served: &Served,
    body: RequestBody,
    warnings: &mut Vec<String>,
) -> Result<Reply, Status> {
    let media = asked.media(served, false)?;
    let format = input::format(&asked.parts.headers)?;
    let body = services.uploads.read(body).await?;
    let mut context = asked.context();
    apply_options(&mut context, asked.query.write_options("CreateOptions", false)?);
    let namespace = asked.target.namespace();
    let work = async {
        let input = object(&services.registry, &body, format, served, &mut context)?;
        services.registry.transient(&mut context, served, namespace, "", input)
    };
    let object = asked.aside.perform(body.len(), work).await;
    warnings.append(&mut context.warnings);
    let object = object??;
    if matches!(media.convert, Some(Convert::PartialObjectMetadataList(_))) {
        return Err(not_a_list(served));
    }
    if served.definition.kind == "Binding" {
        let bound =
            crate::resources::pods::binding::bind(&services.registry, &context, namespace, &object).await;
        warnings.append(&mut context.warnings);
        return bound.map(|()| Answer::value(201, &crate::resources::pods::posted::success(), media).into());
    }
    let answer = reviewed(services, asked, served, object);
    token_uses::label(&services.registry, &*services.authenticator).await;
    let answer = answer?;
    Ok(Answer::value(201, &answer, media).into())
}

fn reviewed(services: &Services, asked: &Asked<'_>, served: &Served, object: Value) -> Result<Value, Status> {
    let (authorizer, authenticator) = (services.authorization.authorizer(), &*services.authenticator);
    match served.definition.kind.as_str() {
        "TokenReview" => who::token_review(authenticator, object),
        "SelfSubjectReview" => Ok(who::self_review(served, asked.user, services.clock.now())),
        "SelfSubjectRulesReview" => access::rules_review(authorizer, served, asked.user, &object),
        kind => access::access_review(authorizer, kind, asked.user, object),
    }
}
