//! CoreDNS's configuration, the Corefile, and its changes from version to version. Pure functions.

mod migrate;
mod parse;
mod table;

pub use migrate::migrate;
pub use parse::{Entry, parse, print};
