//! Parses the text of a path, without knowledge of the served resources.

use std::borrow::Cow;

use http::Method;

use crate::request::query::Query;
use crate::request::verb::Verb;

/// Returns the path without percent escapes, which authorization and handlers both use. An escaped slash
/// separates segments like any other, and `+` is kept. `None` for invalid escapes or invalid UTF-8.
pub fn unescaped(path: &str) -> Option<Cow<'_, str>> {
    if !path.contains('%') {
        return Some(Cow::Borrowed(path));
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut plain = Vec::with_capacity(path.len());
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        plain.push(match byte {
            b'%' => digit(bytes.next()?)? << 4 | digit(bytes.next()?)?,
            other => other,
        });
    }
    String::from_utf8(plain).ok().map(Cow::Owned)
}

/// A path below `/api/{version}/` or `/apis/{group}/{version}/`, split into segments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResourcePath<'p> {
    /// The group, empty for the core one.
    pub group: &'p str,
    /// The version.
    pub version: &'p str,
    /// The namespace in the path; it may be empty. `None` also for the path of a Namespace itself.
    pub namespace: Option<&'p str>,
    /// The plural of the resource.
    pub resource: &'p str,
    /// Empty for collections.
    pub name: &'p str,
    /// Empty for the object itself.
    pub subresource: &'p str,
    /// The path after the subresource, without its leading slash.
    pub rest: &'p str,
    /// Whether the path begins with `watch/`, the old form of watches.
    pub watch: bool,
}

/// Iterator over the segments of a path.
struct Segments<'p>(Option<&'p str>);

impl<'p> Segments<'p> {
    fn rest(&self) -> &'p str {
        self.0.unwrap_or_default()
    }
}

impl<'p> Iterator for Segments<'p> {
    type Item = &'p str;

    fn next(&mut self) -> Option<&'p str> {
        let (segment, rest) = match self.0?.split_once('/') {
            Some((segment, rest)) => (segment, Some(rest)),
            None => (self.0?, None),
        };
        self.0 = rest;
        Some(segment)
    }
}

impl<'p> ResourcePath<'p> {
    /// Parses a path without escapes. `None` for a non-resource path, for example a discovery path.
    pub fn parse(path: &'p str) -> Option<Self> {
        let mut segments = Segments(Some(path.strip_prefix('/')?.trim_end_matches('/')));
        let mut parsed = Self::default();
        match segments.next()? {
            "api" => {}
            "apis" => parsed.group = segments.next()?,
            _ => return None,
        }
        parsed.version = segments.next().filter(|version| !version.is_empty())?;
        parsed.resource = segments.next()?;
        if parsed.resource == "watch"
            && let Some(first) = segments.next()
        {
            parsed.watch = true;
            parsed.resource = first;
        }
        parsed.name = segments.next().unwrap_or_default();
        parsed.subresource = segments.next().unwrap_or_default();
        if parsed.resource == "namespaces" && !parsed.name.is_empty() | !parsed.subresource.is_empty() {
            parsed.through_namespace(&mut segments);
        }
        parsed.rest = segments.rest();
        Some(parsed)
    }

    /// Interprets `namespaces/x/...`: `namespaces/x/status` is a part of the Namespace,
    /// `namespaces/x/configmaps` a resource in it.
    fn through_namespace(&mut self, segments: &mut Segments<'p>) {
        let end = self.subresource.is_empty() && segments.0.is_none();
        let itself = end || matches!(self.subresource, "status" | "finalize");
        if itself && self.group.is_empty() {
            return;
        }
        self.namespace = Some(self.name);
        if !itself {
            self.resource = self.subresource;
            self.name = segments.next().unwrap_or_default();
            self.subresource = segments.next().unwrap_or_default();
        }
    }

    /// Returns the verb of a request for this path.
    pub(crate) fn verb(&self, method: &Method, query: &Query) -> Verb {
        if self.watch {
            return Verb::Watch;
        }
        // A path with a name is a get, whatever the query says.
        let watch = self.name.is_empty() && query.flag("watch").unwrap_or(false);
        Verb::of(method, !self.name.is_empty(), watch)
    }
}
