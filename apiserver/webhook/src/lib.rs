//! HTTPS calls to webhooks, for conversion and for admission.
//!
//! [`HttpsCaller`] is the [`registry::WebhookCaller`] of a server that may reach other machines. It keeps
//! connections open, verifies certificates against the webhook's own CA bundle, and words its errors as Go's
//! HTTP client does, since users search for these messages. It opens connections through a [`net::Dial`].

mod caller;
mod connect;
pub mod limits;
mod words;

pub use caller::HttpsCaller;
