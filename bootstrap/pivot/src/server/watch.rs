//! Watches objects, so that nothing has to be polled.

use futures::stream::{self, BoxStream, StreamExt};
use http::Request;
use http_body_util::BodyExt;
use kube::client::Body;
use machinery::url::encode;
use serde::Deserialize;
use serde_json::Value;

use super::Server;
use crate::error::Result;
use crate::limits;

/// The media type of responses with only the objects' metadata.
const METADATA_ONLY: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

/// One change of an object.
#[derive(Debug, Deserialize)]
pub struct Change {
    /// `ADDED`, `MODIFIED`, `DELETED` or `ERROR`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Metadata of the object, or a `Status`.
    pub object: Value,
}

struct Lines {
    body: Body,
    text: Vec<u8>,
}

impl Lines {
    /// Returns the next complete line; `None` if the server or the network ended the watch, or the line cannot be read or is too long.
    async fn next(&mut self) -> Option<Change> {
        let mut searched = 0;
        loop {
            if let Some(end) = self.text[searched..].iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.text.drain(..=searched + end).collect();
                return serde_json::from_slice(&line).ok();
            }
            searched = self.text.len();
            let frame = self.body.frame().await?.ok()?;
            if let Ok(data) = frame.into_data() {
                self.text.extend_from_slice(&data);
            }
            if self.text.len() > limits::LINE {
                return None;
            }
        }
    }
}

impl Server {
    /// Sends all objects that `path` lists, then their changes, with metadata only. The stream ends when the server or the network ends
    /// it.
    ///
    /// # Errors
    /// The errors of [`Server::get`]; the request is sent only once.
    pub async fn watch(
        &self,
        what: &str,
        path: &str,
        name: Option<&str>,
    ) -> Result<BoxStream<'static, Change>> {
        let mut path = format!("{path}?watch=true");
        if let Some(name) = name {
            path.push_str("&fieldSelector=");
            path.push_str(&encode(format!("metadata.name={name}")));
        }
        let request = Request::get(path).header(http::header::ACCEPT, METADATA_ONLY).body(Vec::new());
        let request = request.map_err(|error| self.failed(what, kube::Error::HttpError(error)))?;
        let answer = self.ask(request).await.map_err(|error| self.failed(what, error))?;
        let lines = Lines { body: answer.into_body(), text: Vec::new() };
        Ok(stream::unfold(lines, |mut lines| async move { Some((lines.next().await?, lines)) }).boxed())
    }
}
