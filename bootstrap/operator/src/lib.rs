//! The objects of the Cluster API Operator (`operator.cluster.x-k8s.io`): a provider that somebody declares is installed, upgraded and
//! deleted with the functions of clusterctl's commands, so that it ends the same, whoever installs it.
//!
//! The rules, conditions and reasons are those of the operator's version v1alpha2, as far as docs/providers.md does not say otherwise.

mod apply;
mod conditions;
mod context;
mod controller;
pub mod customize;
pub mod declared;
mod failure;
pub mod health;
mod inputs;
mod kinds;
pub mod limits;
mod names;
pub mod observe;
pub mod plan;
mod preflight;
mod prepare;
mod redaction;
mod referred;
mod triggers;
mod writer;

use clusterctl::configuration::ProviderType;
use engine::{Descriptor, Provider};

pub use conditions::{INSTALLED, PREFLIGHT, READY, UPGRADED};
pub use context::Context;
pub use failure::Failure;
pub use names::FINALIZER;
pub use referred::Referred;

/// The table of these controllers. They are no provider themselves.
pub const PROVIDERS: &[Provider<Context>] = &[Provider {
    inventory: None,
    controllers: &[
        Descriptor {
            name: "coreprovider",
            reconciles: &[kinds::CORE],
            start: |manager, context| controller::start(manager, context, ProviderType::Core, "coreprovider"),
        },
        Descriptor {
            name: "bootstrapprovider",
            reconciles: &[kinds::BOOTSTRAP],
            start: |manager, context| {
                controller::start(manager, context, ProviderType::Bootstrap, "bootstrapprovider");
            },
        },
        Descriptor {
            name: "controlplaneprovider",
            reconciles: &[kinds::CONTROL_PLANE],
            start: |manager, context| {
                controller::start(manager, context, ProviderType::ControlPlane, "controlplaneprovider");
            },
        },
        Descriptor {
            name: "infrastructureprovider",
            reconciles: &[kinds::INFRASTRUCTURE],
            start: |manager, context| {
                controller::start(manager, context, ProviderType::Infrastructure, "infrastructureprovider");
            },
        },
        Descriptor {
            name: "ipamprovider",
            reconciles: &[kinds::IPAM],
            start: |manager, context| controller::start(manager, context, ProviderType::Ipam, "ipamprovider"),
        },
        Descriptor {
            name: "runtimeextensionprovider",
            reconciles: &[kinds::RUNTIME_EXTENSION],
            start: |manager, context| {
                controller::start(
                    manager,
                    context,
                    ProviderType::RuntimeExtension,
                    "runtimeextensionprovider",
                );
            },
        },
        Descriptor {
            name: "addonprovider",
            reconciles: &[kinds::ADDON],
            start: |manager, context| {
                controller::start(manager, context, ProviderType::Addon, "addonprovider");
            },
        },
    ],
}];
