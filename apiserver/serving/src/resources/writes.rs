//! CREATE, UPDATE, PATCH and DELETE.

use machinery::status::Status;
use registry::{Context, Deleted, FieldValidation, Input, PatchBody, Registry, Served, Subresource};

use super::patches::{PatchKind, configuration};
use super::reads;
use crate::limits;
use crate::request::aside::aside;
use crate::request::asked::Asked;
use crate::request::input::{self, expected, is_kind};
use crate::request::reached::late;
use crate::request::read_body::RequestBody;
use crate::request::verb::Verb;
use crate::request::write_options::apply_options;
use crate::response::answer::Answer;
use crate::response::reply::Reply;
use crate::response::transform::Form;
use crate::services::Services;

/// Reads the body and performs the verb.
pub(crate) async fn write(
    services: &Services,
    asked: &Asked<'_>,
    served: &Served,
    body: RequestBody,
    warnings: &mut Vec<String>,
) -> Result<Reply, Status> {
    let mut context = asked.context();
    let writing = async {
        match asked.target.verb() {
            Verb::Create => create(services, asked, served, body, &mut context).await,
            Verb::Update => update(services, asked, served, body, &mut context).await,
            Verb::Patch => patch(services, asked, served, body, &mut context).await,
            Verb::Delete => delete(services, asked, served, body, &mut context).await,
            Verb::DeleteCollection => delete_collection(services, asked, served, body, &mut context).await,
            _ => Err(Status::not_supported(served.resource(), asked.target.verb().as_str())),
        }
    };
    let done = tokio::time::timeout(limits::REQUEST, writing).await;
    warnings.append(&mut context.warnings);
    Ok(done.map_err(|_| late(&services.metrics, "the request took too long"))??.into())
}

async fn create(
    services: &Services,
    asked: &Asked<'_>,
    served: &Served,
    body: RequestBody,
    context: &mut Context,
) -> Result<Answer, Status> {
    let media = asked.media(served, false)?;
    let format = input::format(&asked.parts.headers)?;
    let body = services.uploads.read(body).await?;
    apply_options(context, asked.query.write_options("CreateOptions", false)?);
    let work = async {
        let input = object(&services.registry, &body, format, served, context)?;
        let namespace = asked.target.namespace();
        let written = services.registry.create(context, served, namespace, input).await?;
        reads::show(&services.clock, 201, &written.object, asked, served, media)
    };
    asked.aside.perform(body.len(), work).await?
}

async fn update(
    services: &Services,
    asked: &Asked<'_>,
    served: &Served,
    body: RequestBody,
    context: &mut Context,
) -> Result<Answer, Status> {
    let media = asked.media(served, false)?;
    let format = input::format(&asked.parts.headers)?;
    let body = services.uploads.read(body).await?;
    apply_options(context, asked.query.write_options("UpdateOptions", false)?);
    context.create_refusal = services.authorization.create_refusal(asked);
    let (namespace, name) = (asked.target.namespace(), asked.target.name());
    let bytes = body.len() + services.registry.stored_bytes(served, namespace, name);
    let work = async {
        let part = asked.target.part();
        let input = update_input(&services.registry, &body, format, part, served, context)?;
        let written = services.registry.update(context, served, namespace, name, part, input).await?;
        let code = if written.created { 201 } else { 200 };
        reads::show(&services.clock, code, &written.object, asked, served, media)
    };
    asked.aside.perform(bytes, work).await?
}

/// Decodes the body of an update.
fn update_input(
    registry: &Registry,
    body: &[u8],
    format: input::Format,
    part: Subresource,
    served: &Served,
    context: &mut Context,
) -> Result<Input, Status> {
    if part != Subresource::Scale {
        return object(registry, body, format, served, context);
    }
    let expected =
        input::Expected { api_version: "autoscaling/v1", kind: "Scale", built_in: true, strict: true };
    let definitions = registry.definitions();
    let is_kind = |api_version: &str, kind: &str| is_kind(&definitions, api_version, kind);
    input::object(body, format, expected, is_kind).map_err(|status| {
        // For the Scale of a custom resource, kube-apiserver replaces any error by this one.
        let scheme = "in scheme \"pkg/runtime/scheme.go:111\"";
        let why = format!("no kind is registered for the type v1.Scale {scheme}");
        if served.definition.built_in { status } else { Status::bad_request(why) }
    })
}

/// Decodes an object of the resource.
pub(crate) fn object(
    registry: &Registry,
    body: &[u8],
    format: input::Format,
    served: &Served,
    context: &mut Context,
) -> Result<Input, Status> {
    let definitions = registry.definitions();
    let api_version = served.api_version();
    let mut expected = expected(&api_version, served);
    expected.strict = context.field_validation != FieldValidation::Ignore;
    let input =
        input::object(body, format, expected, |api_version, kind| is_kind(&definitions, api_version, kind))?;
    let given = machinery::meta::api_version(&input.object);
    if given != api_version {
        let mut problems = input.strict_errors;
        problems.extend(registry::unknown_version(served, &input.object));
        let (_, version) = machinery::meta::group_version(given);
        let kind = &served.definition.kind;
        registry::strictness(context, problems).map_err(|why| {
            Status::bad_request(format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}"))
        })?;
        return Err(Status::bad_request(format!(
            "the API version in the data ({given}) does not match the expected API version ({api_version})"
        )));
    }
    Ok(input)
}

async fn patch(
    services: &Services,
    asked: &Asked<'_>,
    served: &Served,
    body: RequestBody,
    context: &mut Context,
) -> Result<Answer, Status> {
    let kind = PatchKind::of(asked, served)?;
    let media = asked.media(served, false)?;
    let body = services.uploads.read(body).await?;
    let options = asked.query.write_options("PatchOptions", kind == PatchKind::Apply)?;
    let force = options.force;
    apply_options(context, options);
    let (namespace, name) = (asked.target.namespace(), asked.target.name());
    let bytes = body.len() + services.registry.stored_bytes(served, namespace, name);
    let work = async {
        let patch = match kind {
            PatchKind::Json => PatchBody::Json(body),
            PatchKind::Merge => PatchBody::Merge(body),
            PatchKind::Strategic => PatchBody::Strategic(body),
            PatchKind::Apply => {
                let input = configuration(&body, context)?;
                context.create_refusal = services.authorization.create_refusal(asked);
                PatchBody::Apply { input, force }
            }
        };
        let part = asked.target.part();
        let written = services.registry.patch(context, served, namespace, name, part, patch).await?;
        let code = if written.created { 201 } else { 200 };
        reads::show(&services.clock, code, &written.object, asked, served, media)
    };
    asked.aside.perform(bytes, work).await?
}

async fn delete(
    services: &Services,
    asked: &Asked<'_>,
    served: &Served,
    body: RequestBody,
    context: &mut Context,
) -> Result<Answer, Status> {
    let media = asked.media(served, false)?;
    let body = services.uploads.read(body).await?;
    let options = aside(body.len(), || input::delete_options(&body, &asked.parts.headers, served))?;
    let (options, dry_run) = asked.query.delete_options(options.as_ref())?;
    context.dry_run = dry_run;
    let (namespace, name) = (asked.target.namespace(), asked.target.name());
    let work = async {
        match services.registry.delete(context, served, namespace, name, &options).await? {
            Deleted::Object { object, accepted } => {
                reads::show(&services.clock, if accepted { 202 } else { 200 }, &object, asked, served, media)
            }
            Deleted::Status(status) => Ok(Answer::value(200, &status, media)),
        }
    };
    asked.aside.perform(services.registry.stored_bytes(served, namespace, name), work).await?
}

async fn delete_collection(
    services: &Services,
    asked: &Asked<'_>,
    served: &Served,
    body: RequestBody,
    context: &mut Context,
) -> Result<Answer, Status> {
    let media = asked.media(served, false)?;
    let body = services.uploads.read(body).await?;
    let list = asked.query.list_options()?;
    let options = aside(body.len(), || input::delete_options(&body, &asked.parts.headers, served))?;
    let (options, dry_run) = asked.query.delete_options(options.as_ref())?;
    context.dry_run = dry_run;
    let namespace = asked.target.namespace();
    let deleted = services.registry.delete_collection(context, served, namespace, &options, &list).await?;
    let form = Form::of_list(media.convert, served, asked.include())?;
    asked
        .aside
        .perform(
            reads::work(asked, &deleted, media),
            reads::listed(&services.clock, asked, served, form, &deleted, media),
        )
        .await
}
