//! Values during evaluation.

mod addresses;
mod authority;
mod compare;
mod failure;
mod made;
mod nested;
mod semver;
mod timestamp;
mod value;
pub(crate) mod work;

pub(crate) use addresses::{Cidr, parse_cidr, parse_ip};
pub use authority::{Asker, Decider, Resource, Subject};
pub(crate) use authority::{Authority, Step};
pub(crate) use failure::{CANCELLED, Failure, NO_OVERLOAD, OUT_OF_BUDGET, Outcome, no_overload};
pub(crate) use made::Made;
pub(crate) use nested::Nested;
pub(crate) use semver::Semver;
pub(crate) use timestamp::{parse_timestamp, show_duration, show_timestamp};
pub(crate) use value::{Val, child};
