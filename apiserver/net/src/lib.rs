//! How this process reaches other machines: through the proxies that its environment names ([`Proxies`]), with the certificate authorities
//! of this machine ([`authorities`]), and with errors that say what to do ([`Error`]).
//!
//! [`Connector`] and [`Client`] are for hyper; [`dial`] is for everything else that wants a stream. What runs on this machine is never
//! reached through a proxy.

mod addresses;
pub mod authorities;
mod bypass;
mod client;
mod connector;
mod dial;
mod error;
mod inside;
pub mod limits;
mod pods;
mod proxies;
mod proxy;
mod socks;
mod stream;
mod tunnel;

pub use addresses::is_own_address;
pub use client::Client;
pub use connector::Connector;
pub use dial::{Scheme, dial};
pub use error::{Error, Failure, refusal};
pub use pods::for_pods;
pub use proxies::Proxies;
pub use proxy::Proxy;
pub use stream::Stream;
