//! CREATE, UPDATE, PATCH and DELETE.

use machinery::status::Status;
use registry::{Context, Deleted, FieldValidation, Input, PatchBody, Served, Subresource};

use super::patches::{PatchKind, configuration};
use super::reads;
use crate::limits;
use crate::request::aside::aside;
use crate::request::asked::Asked;
use crate::request::input::{self, expected, is_kind};
use crate::request::read_body::RequestBody;
use crate::request::verb::Verb;
use crate::request::write_options::apply_options;
use crate::response::answer::Answer;
use crate::response::reply::Reply;
use crate::response::transform::Form;
use crate::shared::Shared;

impl Shared {
    /// Reads the body and performs the verb.
    pub(crate) async fn write(
        &self,
        asked: &Asked<'_>,
        served: &Served,
        body: RequestBody,
        warnings: &mut Vec<String>,
    ) -> Result<Reply, Status> {
        let mut context = asked.context();
        let writing = async {
            match asked.target.verb() {
                Verb::Create => self.create(asked, served, body, &mut context).await,
                Verb::Update => self.update(asked, served, body, &mut context).await,
                Verb::Patch => self.patch(asked, served, body, &mut context).await,
                Verb::Delete => self.delete(asked, served, body, &mut context).await,
                Verb::DeleteCollection => self.delete_collection(asked, served, body, &mut context).await,
                _ => Err(Status::not_supported(served.resource(), asked.target.verb().as_str())),
            }
        };
        let done = tokio::time::timeout(limits::REQUEST, writing).await;
        warnings.append(&mut context.warnings);
        Ok(done.map_err(|_| self.late("the request took too long"))??.into())
    }

    async fn create(
        &self,
        asked: &Asked<'_>,
        served: &Served,
        body: RequestBody,
        context: &mut Context,
    ) -> Result<Answer, Status> {
        let media = asked.media(served, false)?;
        let format = input::format(&asked.parts.headers)?;
        let body = self.read(body).await?;
        apply_options(context, asked.query.write_options("CreateOptions", false)?);
        let work = async {
            let input = self.object(&body, format, served, context)?;
            let namespace = asked.target.namespace();
            let written = self.registry.create(context, served, namespace, input).await?;
            self.show(201, &written.object, asked, served, media)
        };
        asked.aside.perform(body.len(), work).await?
    }

    async fn update(
        &self,
        asked: &Asked<'_>,
        served: &Served,
        body: RequestBody,
        context: &mut Context,
    ) -> Result<Answer, Status> {
        let media = asked.media(served, false)?;
        let format = input::format(&asked.parts.headers)?;
        let body = self.read(body).await?;
        apply_options(context, asked.query.write_options("UpdateOptions", false)?);
        context.create_refusal = self.create_refusal(asked);
        let (namespace, name) = (asked.target.namespace(), asked.target.name());
        let bytes = body.len() + self.registry.stored_bytes(served, namespace, name);
        let work = async {
            let part = asked.target.part();
            let input = self.update_input(&body, format, part, served, context)?;
            let written = self.registry.update(context, served, namespace, name, part, input).await?;
            let code = if written.created { 201 } else { 200 };
            self.show(code, &written.object, asked, served, media)
        };
        asked.aside.perform(bytes, work).await?
    }

    /// Decodes the body of an update.
    fn update_input(
        &self,
        body: &[u8],
        format: input::Format,
        part: Subresource,
        served: &Served,
        context: &mut Context,
    ) -> Result<Input, Status> {
        if part != Subresource::Scale {
            return self.object(body, format, served, context);
        }
        let expected =
            input::Expected { api_version: "autoscaling/v1", kind: "Scale", built_in: true, strict: true };
        let definitions = self.registry.definitions();
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
        &self,
        body: &[u8],
        format: input::Format,
        served: &Served,
        context: &mut Context,
    ) -> Result<Input, Status> {
        let definitions = self.registry.definitions();
        let api_version = served.api_version();
        let mut expected = expected(&api_version, served);
        expected.strict = context.field_validation != FieldValidation::Ignore;
        let input = input::object(body, format, expected, |api_version, kind| {
            is_kind(&definitions, api_version, kind)
        })?;
        let given = machinery::meta::api_version(&input.object);
        if given != api_version {
            let mut problems = input.strict_errors;
            problems.extend(registry::unknown_version(served, &input.object));
            let (_, version) = machinery::meta::group_version(given);
            let kind = &served.definition.kind;
            registry::strictness(context, problems).map_err(|why| {
                Status::bad_request(format!(
                    "{kind} in version {version:?} cannot be handled as a {kind}: {why}"
                ))
            })?;
            return Err(Status::bad_request(format!(
                "the API version in the data ({given}) does not match the expected API version ({api_version})"
            )));
        }
        Ok(input)
    }

    async fn patch(
        &self,
        asked: &Asked<'_>,
        served: &Served,
        body: RequestBody,
        context: &mut Context,
    ) -> Result<Answer, Status> {
        let kind = PatchKind::of(asked, served)?;
        let media = asked.media(served, false)?;
        let body = self.read(body).await?;
        let options = asked.query.write_options("PatchOptions", kind == PatchKind::Apply)?;
        let force = options.force;
        apply_options(context, options);
        let (namespace, name) = (asked.target.namespace(), asked.target.name());
        let bytes = body.len() + self.registry.stored_bytes(served, namespace, name);
        let work = async {
            let patch = match kind {
                PatchKind::Json => PatchBody::Json(body),
                PatchKind::Merge => PatchBody::Merge(body),
                PatchKind::Strategic => PatchBody::Strategic(body),
                PatchKind::Apply => {
                    let input = configuration(&body, context)?;
                    context.create_refusal = self.create_refusal(asked);
                    PatchBody::Apply { input, force }
                }
            };
            let part = asked.target.part();
            let written = self.registry.patch(context, served, namespace, name, part, patch).await?;
            let code = if written.created { 201 } else { 200 };
            self.show(code, &written.object, asked, served, media)
        };
        asked.aside.perform(bytes, work).await?
    }

    async fn delete(
        &self,
        asked: &Asked<'_>,
        served: &Served,
        body: RequestBody,
        context: &mut Context,
    ) -> Result<Answer, Status> {
        let media = asked.media(served, false)?;
        let body = self.read(body).await?;
        let options = aside(body.len(), || input::delete_options(&body, &asked.parts.headers, served))?;
        let (options, dry_run) = asked.query.delete_options(options.as_ref())?;
        context.dry_run = dry_run;
        let (namespace, name) = (asked.target.namespace(), asked.target.name());
        let work = async {
            match self.registry.delete(context, served, namespace, name, &options).await? {
                Deleted::Object { object, accepted } => {
                    self.show(if accepted { 202 } else { 200 }, &object, asked, served, media)
                }
                Deleted::Status(status) => Ok(Answer::value(200, &status, media)),
            }
        };
        asked.aside.perform(self.registry.stored_bytes(served, namespace, name), work).await?
    }

    async fn delete_collection(
        &self,
        asked: &Asked<'_>,
        served: &Served,
        body: RequestBody,
        context: &mut Context,
    ) -> Result<Answer, Status> {
        let media = asked.media(served, false)?;
        let body = self.read(body).await?;
        let list = asked.query.list_options()?;
        let options = aside(body.len(), || input::delete_options(&body, &asked.parts.headers, served))?;
        let (options, dry_run) = asked.query.delete_options(options.as_ref())?;
        context.dry_run = dry_run;
        let namespace = asked.target.namespace();
        let deleted = self.registry.delete_collection(context, served, namespace, &options, &list).await?;
        let form = Form::of_list(media.convert, served, asked.include())?;
        asked
            .aside
            .perform(reads::work(asked, &deleted, media), self.listed(asked, served, form, &deleted, media))
            .await
    }
}
