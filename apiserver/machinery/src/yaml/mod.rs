//! Writes YAML as Go programs with `sigs.k8s.io/yaml` do: JSON's values, sorted keys, the same layout and quotes.

pub mod resolve;
mod write;

pub use write::write;
