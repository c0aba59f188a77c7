//! GET, LIST and WATCH.

use std::time::Duration;

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response};
use machinery::field::{FieldError, FieldErrorKind};
use machinery::status::Status;
use registry::{Served, Subresource};

use crate::answer::{Answer, add_warnings, wants_pretty};
use crate::body::Body;
use crate::handle::{Asked, Reply};
use crate::limits;
use crate::negotiate::{Media, Offer, negotiate};
use crate::server::Shared;
use crate::transform::Form;
use crate::watch::{self, Stage};

impl Asked<'_> {
    /// The form of the answer.
    ///
    /// # Errors
    /// 406.
    pub(crate) fn media(&self, served: &Served, streams: bool) -> Result<Media, Status> {
        let kind = match self.subresource() {
            Subresource::Scale if served.definition.built_in => ("autoscaling/v1", "Scale"),
            // Of a custom object everything is JSON or YAML.
            _ => (&*served.api_version(), &*served.definition.kind),
        };
        let protobuf = machinery::protobuf::is_known(kind.0, kind.1);
        let mut media = negotiate(&self.parts.headers, Offer { streams, protobuf })?;
        media.pretty = media.pretty || wants_pretty(&self.parts.headers, self.query.flag("pretty"));
        Ok(media)
    }

    /// The part of the object that is asked for.
    pub(crate) fn subresource(&self) -> Subresource {
        match self.path.subresource.as_str() {
            "status" => Subresource::Status,
            "scale" => Subresource::Scale,
            "finalize" => Subresource::Finalize,
            _ => Subresource::None,
        }
    }

    fn include(&self) -> &str {
        self.query.get("includeObject").unwrap_or_default()
    }
}

impl Shared {
    pub(crate) async fn get(&self, asked: &Asked<'_>, served: &Served) -> Result<Reply, Status> {
        let media = asked.media(served, false)?;
        let namespace = asked.path.objects_namespace();
        let version = asked.query.get("resourceVersion").unwrap_or_default();
        let got = self.registry.get(served, namespace, &asked.path.name, asked.subresource(), version).await;
        let object = got?;
        Ok(self.show(200, &object, asked, served, media)?.into())
    }

    /// One object in the form that was asked for.
    pub(crate) fn show(
        &self,
        code: u16,
        object: &bytes::Bytes,
        asked: &Asked<'_>,
        served: &Served,
        media: Media,
    ) -> Result<Answer, Status> {
        let form = Form::of_object(media.convert, served, asked.include())?;
        Ok(Answer::json(code, form.object(object, self.clock.now()), media))
    }

    pub(crate) async fn list(
        &self,
        asked: &Asked<'_>,
        served: &Served,
        warnings: &mut Vec<String>,
    ) -> Result<Reply, Status> {
        let media = asked.media(served, false)?;
        let options = asked.query.list_options()?;
        let mut context = asked.context();
        let listing = self.registry.list(&mut context, served, asked.path.objects_namespace(), &options);
        let listed = tokio::time::timeout(limits::REQUEST, listing).await;
        warnings.append(&mut context.warnings);
        let list = listed.map_err(|_| self.late("the list took too long"))??;
        let form = Form::of_list(media.convert, served, asked.include())?;
        Ok(Answer::json(200, form.list(&list, served, self.clock.now()), media).into())
    }

    pub(crate) async fn watch(
        &self,
        asked: &Asked<'_>,
        served: &Served,
        warnings: &[String],
    ) -> Result<Reply, Status> {
        let media = asked.media(served, true)?;
        let lasts = match asked.query.number("timeoutSeconds")? {
            Some(seconds) if seconds > 0 => Duration::from_secs(seconds.unsigned_abs()),
            _ => limits::WATCH,
        };
        if !asked.query.list_options()?.continue_token.is_empty() {
            let why = "resourceVersionMatch is forbidden when continue is provided";
            let error = FieldError::bare(FieldErrorKind::Forbidden, "resourceVersionMatch", why);
            return Err(Status::invalid("meta.k8s.io", "ListOptions", "", &[error]));
        }
        let options = asked.query.watch_options();
        let form = Form::of_event(media.convert, served, asked.include())?;
        let mut context = asked.context();
        let namespace = asked.path.objects_namespace();
        let watch = self.registry.watch(&mut context, served, namespace, &options).await?;
        let stage = Stage {
            watch,
            form,
            encoding: media.encoding,
            lines: self.lines.clone(),
            clock: self.clock.clone(),
            bookmarks: options.bookmarks,
            lasts,
            stop: self.stop.clone(),
            counted: self.metrics.watch(&served.definition.group, &served.definition.plural),
        };
        let mut response = Response::new(Body::stream(watch::stream(stage)));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media.encoding.stream_type()));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
        add_warnings(headers, &[warnings, &context.warnings].concat());
        Ok(Reply::Response(Box::new(response)))
    }
}
