//! HTTPS calls to webhooks: of conversions and of admission.
//!
//! [`HttpsCaller`] is the [`registry::WebhookCaller`] of a server that may reach other machines. It keeps connections open,
//! verifies certificates against the webhook's own bundle of authorities, and words its errors as Go's HTTP client does, since
//! they end in messages that people search for. [`Dialer`] is its door to the network.

mod caller;
mod connect;
mod dial;
pub mod limits;
mod words;

pub use caller::HttpsCaller;
pub use dial::{Dialer, RealDialer, Stream};
