//! Runtime extensions: programs of others that Cluster API asks at certain moments (`contract/controllers.md`, §12).
//!
//! An ExtensionConfig says where an extension answers. [`extension_config`] asks it which handlers it has, and keeps them in the status. [`Client`]
//! calls them over HTTPS, whoever wants to know. What extensions send is read by [`answers`], and limited by [`limits`].

mod address;
mod answer_cache;
pub mod answers;
mod caller;
mod client;
mod error;
pub mod extension_config;
mod handlers;
mod hooks;
pub mod in_place;
pub mod limits;
mod metrics;
pub mod names;
mod updater;

use engine::Provider;

pub use caller::{Call, Caller, Reply};
pub use client::Client;
pub use error::{Error, Result};
pub use hooks::Hook;

/// The table of the controllers of runtime extensions. They are part of upstream's core provider, which has its entry in the inventory elsewhere.
pub const PROVIDERS: &[Provider<Client>] =
    &[Provider { inventory: None, controllers: &[extension_config::CONTROLLER] }];
