//! Networks of Pods. Each Pod has a network namespace, so that ports of Pods never collide, and reaches from there
//!
//! - the API server, at [`API`],
//! - Services by their names, and other Pods,
//! - other machines, and addresses of this machine that are not loopback.
//!
//! All of it goes through a [`mod@gateway`] in this process; nothing changes on this machine's interfaces or in its firewall. [`Networks::dial`] is the
//! server's own access to Pods and Services. A [`mod@helper`] makes the namespaces. Everything is held by open files only, so it goes away with
//! this process, however that ends.

pub mod addresses;
mod connector;
pub mod dns;
pub mod gateway;
pub mod helper;
pub mod limits;
mod networks;
pub mod packet;
mod router;

pub use addresses::{API, FIRST_SERVICE};
pub use networks::{Network, Networks, Options};
pub use router::Services;
