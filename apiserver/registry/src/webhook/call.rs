//! Calls of webhooks, and the error messages for failed calls.

use std::time::Duration;

use kinds::definition::{WebhookClientConfig, WebhookTarget};
use machinery::random::Random;
use serde_json::Value;

use super::caller::{WebhookCaller, WebhookError, WebhookRequest, WebhookResponse};
use super::services;
use crate::versions::reader::Reader;

/// Maximum number of bytes of a response that an error message quotes.
const QUOTED: usize = 2048;

/// Calls webhooks, also those that are Services.
pub(crate) struct Webhooks<'a> {
    caller: Option<&'a dyn WebhookCaller>,
    random: &'a Random,
    /// Finds the addresses of Services.
    reader: Reader<'a>,
}

impl<'a> Webhooks<'a> {
    pub(crate) fn new(caller: Option<&'a dyn WebhookCaller>, random: &'a Random, reader: Reader<'a>) -> Self {
        Self { caller, random, reader }
    }

    /// Returns the UID of another review, which the answer of the webhook must have, too.
    pub(crate) fn new_uid(&self) -> String {
        self.random.uid()
    }

    /// Posts `body` to a webhook and returns the JSON of the response.
    ///
    /// # Errors
    /// With the messages of client-go: `Post "https://…": …` if there is no response, else according to the response.
    pub(crate) async fn call(
        &self,
        config: &WebhookClientConfig,
        timeout: Duration,
        body: &Value,
    ) -> Result<Value, WebhookError> {
        let url = config.url(timeout);
        let failed = |why: String| WebhookError(format!("Post {url:?}: {why}"));
        let caller = self.caller.ok_or_else(|| failed("this server calls no webhooks".to_owned()))?;
        let address = match &config.target {
            WebhookTarget::Url(_) => None,
            WebhookTarget::Service { namespace, name, port, .. } => {
                Some(services::address(self.reader, namespace, name, *port).map_err(failed)?)
            }
        };
        let request = WebhookRequest {
            url: url.clone(),
            address,
            ca_bundle: config.ca_bundle.clone(),
            timeout,
            body: kinds::json::text(body).into(),
        };
        let response = caller.post(request).await.map_err(failed)?;
        read(&response).map_err(WebhookError)
    }
}

/// Returns the JSON of a successful response.
fn read(response: &WebhookResponse) -> Result<Value, String> {
    if !(200..=206).contains(&response.code) {
        return Err(unsuccessful(response));
    }
    let decoded = machinery::decode::json(&response.body);
    decoded
        .map(|decoded| decoded.value)
        .map_err(|why| format!("couldn't get version/kind; json parse error: {why}"))
}

/// Returns client-go's message for an unsuccessful response: the message of a `Status`, else a text for the status
/// code.
fn unsuccessful(response: &WebhookResponse) -> String {
    if let Ok(status) = machinery::decode::json(&response.body).map(|decoded| decoded.value)
        && status["kind"] == "Status"
        && let Some(message) = status["message"].as_str()
    {
        return message.to_owned();
    }
    let text = response.content_type.is_empty() || response.content_type.starts_with("text/");
    let body = String::from_utf8_lossy(&response.body[..response.body.len().min(QUOTED)]);
    let said = if text { body.trim() } else { "unknown" };
    match response.code {
        400 => "the server rejected our request for an unknown reason".to_owned(),
        401 => "the server has asked for the client to provide credentials".to_owned(),
        403 | 415 => said.to_owned(),
        404 => "the server could not find the requested resource".to_owned(),
        405 => "the server does not allow this method on the requested resource".to_owned(),
        406 if !said.is_empty() && said != "unknown" => said.to_owned(),
        406 => "the server was unable to respond with a content type that the client supports".to_owned(),
        409 => "the server reported a conflict".to_owned(),
        422 => "the server rejected our request due to an error in our request".to_owned(),
        429 => "the server has received too many requests and has asked us to try again later".to_owned(),
        503 => "the server is currently unable to handle the request".to_owned(),
        504 => "the server was unable to return a response in the time allotted, but may still be processing the request".to_owned(),
        500.. => format!("an error on the server ({said:?}) has prevented the request from succeeding"),
        code => format!(
            "the server responded with the status code {code} but did not return more information"
        ),
    }
}
