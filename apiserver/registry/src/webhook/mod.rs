//! Calls of webhooks: their addresses, the interface to the HTTP client, and the error messages.

pub(crate) mod call;
pub(crate) mod caller;
mod services;

pub use caller::{DEADLINE, WebhookCaller, WebhookError, WebhookRequest, WebhookResponse};
