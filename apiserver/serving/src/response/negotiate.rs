//! Content negotiation by the `Accept` header.

use http::HeaderMap;
use http::header::ACCEPT;
use machinery::status::Status;

/// The encoding of a response body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// Protobuf, offered for errors, discovery documents, built-in kinds and partial metadata, but not for
    /// Tables.
    Protobuf,
}

impl Encoding {
    /// Returns the content type.
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }
}

impl Encoding {
    /// Returns the content type of a watch.
    pub(crate) fn stream_type(self) -> &'static str {
        match self {
            Self::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
            other => other.media_type(),
        }
    }
}

/// A kind that objects are converted to, with the version of `meta.k8s.io`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Convert {
    /// A table for people.
    Table(&'static str),
    /// The metadata of an object.
    PartialObjectMetadata(&'static str),
    /// The metadata of each object of a list.
    PartialObjectMetadataList(&'static str),
}

/// The negotiated media type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Media {
    /// The encoding.
    pub encoding: Encoding,
    /// What objects are converted to.
    pub convert: Option<Convert>,
    /// Whether the text has lines and indentation.
    pub pretty: bool,
}

impl Media {
    /// Returns whether an answer has to be parsed and written again, because it is not the JSON text of the objects.
    pub(crate) fn is_rewritten(self) -> bool {
        self.convert.is_some() || self.pretty || self.encoding != Encoding::Json
    }
}

/// Plain JSON.
pub const JSON: Media = Media { encoding: Encoding::Json, convert: None, pretty: false };

/// The media types that every 406 and 415 error lists.
pub(crate) const ACCEPTED: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// One entry of an `Accept` header.
pub(crate) struct Clause<'a> {
    pub(crate) media_type: &'a str,
    pub(crate) subtype: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    quality: f32,
}

impl Clause<'_> {
    /// Returns the value of a parameter; empty if absent.
    pub(crate) fn parameter(&self, name: &str) -> &str {
        self.parameters.iter().find(|(key, _)| *key == name).map_or("", |(_, value)| value)
    }

    /// Returns whether the entry asks for a conversion to another kind.
    pub(crate) fn converts(&self) -> bool {
        ["as", "g", "v"].iter().any(|name| !self.parameter(name).is_empty())
    }

    fn matches(&self, encoding: Encoding) -> bool {
        let subtype = encoding.media_type().trim_start_matches("application/");
        match (self.media_type, self.subtype) {
            ("*", "*") | ("application", "*") => true,
            (media_type, one) => media_type == "application" && one == subtype,
        }
    }
}

/// Returns the entries of the `Accept` headers, the best first.
pub(crate) fn clauses(headers: &HeaderMap) -> Vec<Clause<'_>> {
    let mut clauses: Vec<Clause<'_>> = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(clause)
        .collect();
    let wildcards =
        |clause: &Clause<'_>| usize::from(clause.media_type == "*") + usize::from(clause.subtype == "*");
    clauses.sort_by(|a, b| b.quality.total_cmp(&a.quality).then(wildcards(a).cmp(&wildcards(b))));
    clauses
}

fn clause(text: &str) -> Option<Clause<'_>> {
    let mut parts = text.split(';').map(str::trim);
    let (media_type, subtype) = parts.next()?.split_once('/')?;
    let mut quality = 1.0;
    let mut parameters = Vec::new();
    for parameter in parts {
        let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let (key, value) = (key.trim(), value.trim().trim_matches('"'));
        if key == "q" {
            quality = value.parse().unwrap_or(1.0);
        } else {
            parameters.push((key, value));
        }
    }
    Some(Clause { media_type, subtype, parameters, quality })
}

/// Returns whether the client has no preference.
pub(crate) fn asks_nothing(headers: &HeaderMap) -> bool {
    headers.get_all(ACCEPT).iter().all(|value| value.as_bytes().iter().all(u8::is_ascii_whitespace))
}

/// The possible forms of a response.
#[derive(Debug, Clone, Copy, Default)]
pub struct Offer {
    /// Whether the response is a watch.
    pub streams: bool,
    /// Whether the kind has a protobuf message.
    pub protobuf: bool,
}

/// Negotiates the media type of a response with objects.
///
/// # Errors
/// 406 if none of the accepted types is offered.
pub fn negotiate(headers: &HeaderMap, offer: Offer) -> Result<Media, Status> {
    if asks_nothing(headers) {
        return Ok(JSON);
    }
    let clauses = clauses(headers);
    let media = clauses.iter().find_map(|clause| accept(clause, offer)).ok_or_else(not_acceptable)?;
    if offer.streams && media.encoding == Encoding::Yaml {
        let streams = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
        return Err(Status::not_acceptable(format!(
            "only the following media types are accepted: {streams}"
        )));
    }
    Ok(media)
}

/// Returns 406 for a client that accepts none of the offered types.
pub(crate) fn not_acceptable() -> Status {
    Status::not_acceptable(format!("only the following media types are accepted: {ACCEPTED}"))
}

/// Returns whether the header accepts a media type with one of these subtypes of `application`, ignoring all
/// parameters.
pub(crate) fn meets(headers: &HeaderMap, subtypes: &[&str]) -> bool {
    asks_nothing(headers)
        || clauses(headers).iter().any(|clause| {
            (clause.media_type, clause.subtype) == ("*", "*")
                || (clause.media_type == "application" && subtypes.contains(&clause.subtype))
        })
}

/// Returns 406 for media types that cannot be offered, before any other check.
pub(crate) fn no_representation(available: &str) -> Status {
    let mut status =
        Status::not_acceptable(format!("406: Not Acceptable\n\nAvailable representations: {available}"));
    status.details = Some(serde_json::json!({}));
    status
}

fn accept(clause: &Clause<'_>, offer: Offer) -> Option<Media> {
    let all = [Encoding::Json, Encoding::Yaml, Encoding::Protobuf];
    let encoding = all.into_iter().find(|one| clause.matches(*one))?;
    let stream = clause.parameter("stream");
    let offered = stream.is_empty() || (stream == "watch" && encoding != Encoding::Yaml);
    if !offered {
        return None;
    }
    let convert = convert(clause)?;
    let has_message = match convert {
        None => offer.protobuf,
        Some(Convert::Table(_)) => false,
        Some(Convert::PartialObjectMetadata(_) | Convert::PartialObjectMetadataList(_)) => true,
    };
    if encoding == Encoding::Protobuf && !has_message {
        return None;
    }
    Some(Media { encoding, convert, pretty: clause.parameter("pretty") == "1" })
}

/// Returns `Some(None)` if no conversion is requested, `None` for an unsupported one.
fn convert(clause: &Clause<'_>) -> Option<Option<Convert>> {
    let (kind, group, version) = (clause.parameter("as"), clause.parameter("g"), clause.parameter("v"));
    if kind.is_empty() && group.is_empty() && version.is_empty() {
        return Some(None);
    }
    let version = match (group, version) {
        ("meta.k8s.io", "v1") => "meta.k8s.io/v1",
        ("meta.k8s.io", "v1beta1") => "meta.k8s.io/v1beta1",
        _ => return None,
    };
    Some(Some(match kind {
        "Table" => Convert::Table(version),
        "PartialObjectMetadata" => Convert::PartialObjectMetadata(version),
        "PartialObjectMetadataList" => Convert::PartialObjectMetadataList(version),
        _ => return None,
    }))
}

/// Negotiates the encoding of an error; JSON if the client accepts none of the supported ones.
pub(crate) fn negotiate_error(headers: &HeaderMap) -> Encoding {
    let all = [Encoding::Json, Encoding::Yaml, Encoding::Protobuf];
    clauses(headers)
        .iter()
        .filter(|clause| !clause.converts() && clause.parameter("stream").is_empty())
        .find_map(|clause| all.into_iter().find(|encoding| clause.matches(*encoding)))
        .unwrap_or(Encoding::Json)
}
