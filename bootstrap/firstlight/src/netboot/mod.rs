//! Starting machines over the network: what `up` and `serve` add when an interface is named.

mod options;

pub use options::NetbootOptions;
