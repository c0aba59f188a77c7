//! GET, LIST and WATCH.

use std::time::Duration;

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response};
use machinery::clock::Clock;
use machinery::field::{FieldError, FieldErrorKind};
use machinery::selector::FieldSelector;
use machinery::status::Status;
use registry::{List, Registry, Served, Subresource};

use super::watch::{self, Stage};
use super::watch_socket;
use crate::limits;
use crate::request::asked::Asked;
use crate::request::flows::Seat;
use crate::request::reached::late;
use crate::response::answer::{Answer, accepts_gzip, wants_pretty};
use crate::response::negotiate::{Convert, Media, Offer, negotiate};
use crate::response::reply::Reply;
use crate::response::transform::Form;
use crate::response::warnings;
use crate::services::Services;
use crate::transport::body::Body;

impl Asked<'_> {
    /// Negotiates the media type of the response.
    ///
    /// # Errors
    /// 406 if no accepted type is offered.
    pub(crate) fn media(&self, served: &Served, streams: bool) -> Result<Media, Status> {
        let kind = match self.target.part() {
            Subresource::Scale if served.definition.built_in => ("autoscaling/v1", "Scale"),
            // Custom objects and all their subresources are offered as JSON and YAML only.
            _ => (&*served.api_version(), &*served.definition.kind),
        };
        let protobuf = kinds::protobuf::is_known(kind.0, kind.1);
        let mut media = negotiate(&self.parts.headers, Offer { streams, protobuf })?;
        media.pretty = media.pretty || wants_pretty(&self.parts.headers, self.query.flag("pretty"));
        Ok(media)
    }

    pub(crate) fn include(&self) -> &str {
        self.query.get("includeObject").unwrap_or_default()
    }
}

/// Returns the version to show: Tables and partial metadata of built-in kinds use the storage version,
/// independent of the request's version.
fn shown_as(registry: &Registry, served: &Served, media: Media) -> Served {
    let definition = &served.definition;
    let stored = &definition.storage_version;
    if media.convert.is_none() || !definition.built_in || served.version.name == *stored {
        return served.clone();
    }
    let stored = registry.served(&definition.group, stored, &definition.plural);
    stored.unwrap_or_else(|| served.clone())
}

pub(crate) async fn get(services: &Services, asked: &Asked<'_>, served: &Served) -> Result<Reply, Status> {
    let media = asked.media(served, false)?;
    let served = &shown_as(&services.registry, served, media);
    let (namespace, name, part) = (asked.target.namespace(), asked.target.name(), asked.target.part());
    let version = asked.query.get("resourceVersion").unwrap_or_default();
    let found = services.registry.find(served, namespace, name, part, version)?;
    let is_rewritten = media.is_rewritten() || part == Subresource::Scale;
    let bytes = if is_rewritten { found.stored_bytes() } else { found.converted_bytes() };
    let work = async {
        let object = services.registry.found(&found).await?;
        show(&services.clock, 200, &object, asked, served, media)
    };
    Ok(asked.aside.perform(bytes, work).await??.into())
}

/// Returns one object in the negotiated form.
pub(crate) fn show(
    clock: &Clock,
    code: u16,
    object: &bytes::Bytes,
    asked: &Asked<'_>,
    served: &Served,
    media: Media,
) -> Result<Answer, Status> {
    let scale = asked.target.part() == Subresource::Scale;
    let form = match media.convert {
        Some(Convert::Table(version)) if scale => Form::of_scale(version, served, asked.include())?,
        other => Form::of_object(other, served, asked.include())?,
    };
    Ok(Answer::json(code, form.object(object, clock.now()), media))
}

pub(crate) async fn list(
    services: &Services,
    asked: &Asked<'_>,
    served: &Served,
    warnings: &mut Vec<String>,
) -> Result<Reply, Status> {
    let media = asked.media(served, false)?;
    let served = &shown_as(&services.registry, served, media);
    let options = asked.query.list_options()?;
    let mut context = asked.context();
    let listing = services.registry.list(&mut context, served, asked.target.namespace(), &options);
    let done = tokio::time::timeout(limits::REQUEST, listing).await;
    warnings.append(&mut context.warnings);
    let list = done.map_err(|_| late(&services.metrics, "the list took too long"))??;
    let form = Form::of_list(media.convert, served, asked.include())?;
    Ok(asked
        .aside
        .perform(work(asked, &list, media), listed(&services.clock, asked, served, form, &list, media))
        .await?
        .into())
}

/// Returns a page of a list in the negotiated form, compressed if the client accepts that.
pub(crate) async fn listed(
    clock: &Clock,
    asked: &Asked<'_>,
    served: &Served,
    form: Form,
    list: &List,
    media: Media,
) -> Answer {
    let answer = Answer::json(200, form.list(list, served, clock.now()), media);
    answer.compressed(&asked.parts.headers)
}

pub(crate) async fn watch(
    services: &Services,
    asked: &Asked<'_>,
    served: &Served,
    warnings: &[String],
    seat: Option<Seat>,
) -> Result<Reply, Status> {
    let media = asked.media(served, true)?;
    let served = &shown_as(&services.registry, served, media);
    let lasts = match asked.query.number("timeoutSeconds")? {
        Some(seconds) if seconds > 0 => Duration::from_secs(seconds.unsigned_abs()),
        _ => limits::WATCH,
    };
    if !asked.query.list_options()?.continue_token.is_empty() {
        let why = "resourceVersionMatch is forbidden when continue is provided";
        let error = FieldError::bare(FieldErrorKind::Forbidden, "resourceVersionMatch", why);
        return Err(Status::invalid("meta.k8s.io", "ListOptions", "", &[error]));
    }
    let mut options = asked.query.watch_options();
    select_name(&mut options.field_selector, asked.target.name())?;
    let form = Form::of_event(media.convert, served, asked.include())?;
    let mut context = asked.context();
    let namespace = asked.target.namespace();
    let watch = services.registry.watch(&mut context, served, namespace, &options).await?;
    let stage = Stage {
        watch,
        form,
        encoding: media.encoding,
        lines: services.lines.clone(),
        clock: services.clock.clone(),
        aside: asked.aside.clone(),
        bookmarks: options.bookmarks,
        lasts,
        stop: services.stop.clone(),
        _seat: seat,
        counted: services.metrics.watch(&served.definition.group, &served.definition.plural),
    };
    if access::is_socket(&asked.parts.headers) {
        return Ok(Reply::Response(Box::new(watch_socket::serve(asked.parts, stage))));
    }
    let mut response = Response::new(Body::stream(watch::stream(stage)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media.encoding.stream_type()));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    warnings::add(headers, &[warnings, &context.warnings].concat());
    Ok(Reply::Response(Box::new(response)))
}

/// A list of objects as they are stored is looked through once, which is so many times faster than to parse them.
const PLAIN: usize = 8;

/// Returns the work of answering with a list, in bytes that have to be parsed.
pub(crate) fn work(asked: &Asked<'_>, list: &List, media: Media) -> usize {
    let bytes: usize = list.items.iter().map(|item| item.object.len()).sum();
    let is_plain = !media.is_rewritten() && !accepts_gzip(&asked.parts.headers);
    if is_plain { bytes / PLAIN } else { bytes }
}

/// Restricts a field selector to the name in the path of a watch, if there is one.
fn select_name(selector: &mut String, name: &str) -> Result<(), Status> {
    if name.is_empty() {
        return Ok(());
    }
    let terms = FieldSelector::parse(selector).map_err(Status::bad_request)?.terms;
    let found = terms.iter().find(|term| term.equal && term.field == "metadata.name");
    if !terms.is_empty() && found.is_none_or(|term| term.value != name) {
        return Err(Status::bad_request("fieldSelector metadata.name doesn't match requested name"));
    }
    if terms.is_empty() {
        let escaped = name.replace('\\', "\\\\").replace(',', "\\,").replace('=', "\\=");
        *selector = format!("metadata.name={escaped}");
    }
    Ok(())
}
