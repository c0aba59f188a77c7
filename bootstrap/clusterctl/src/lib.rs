//! clusterctl's verbs, except for their terminal input and output: what they read, decide and print.
//!
//! Error messages and outputs that scripts depend on have the wording of clusterctl 1.14.

pub mod built_in;
pub mod components;
pub mod configuration;
pub mod connection;
pub mod convert;
pub mod delete;
mod deployments;
pub mod describe;
mod error;
pub mod generate;
pub mod install;
pub mod inventory;
pub mod kubeconfig;
pub mod list_images;
pub mod network;
mod removal;
pub mod repository;
pub mod rollout;
pub mod substitution;
mod table;
pub mod template;
pub mod upgrade;
pub mod version;
pub mod yaml;

pub use deployments::is_in_process;
pub use error::{Context, Error, Result, cluster_message};
