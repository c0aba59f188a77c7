//! Bare metal: BareMetalHost with the objects that belong to it (HardwareData, DataImage, firmware, subscriptions), and the machines
//! that run the agent.
//!
//! A host is brought to its wanted state by its BMC ([`control`] is the interface to machines) and by the agent that runs on the
//! machine when it was booted by the server (`Agent` objects have instructions in their spec, and reports in their status).

pub mod bmcs;
pub mod bootstrap;
pub mod clients;
mod connection;
pub mod control;
mod data_image;
pub mod firmware;
pub mod host;
pub mod identity;
pub mod instruction;
pub mod limits;
pub mod machines;
pub mod metal3_handover;
pub mod names;
pub mod network_data;
pub mod preprovisioning;
pub mod state;
mod subscription;
pub mod summary;

use std::sync::Arc;

use engine::{Descriptor, GroupKind, Manager, Provider};
use schemas::metal3::{
    BMCEventSubscription, BareMetalHost, DataImage, HostFirmwareComponents, HostFirmwareSettings,
    PreprovisioningImage,
};
use schemas::netboot::Agent;

/// The dependencies that the controllers of bare metal share.
pub struct Context {
    /// The interface to machines.
    pub control: Arc<dyn control::Control>,
    /// The boot images. If `None`, another program reconciles PreprovisioningImages.
    pub boot_images: Option<preprovisioning::BootImages>,
}

/// The table of the controllers of bare metal.
pub const PROVIDERS: &[Provider<Context>] = &[Provider {
    inventory: None,
    controllers: &[
        Descriptor {
            name: "baremetalhost",
            reconciles: &[GroupKind::new(BareMetalHost::GROUP, BareMetalHost::KIND)],
            start: |manager, context| host::start(manager, context.control.clone()),
        },
        Descriptor {
            name: "agent",
            reconciles: &[GroupKind::new(Agent::GROUP, Agent::KIND)],
            start: |manager, _| machines::start(manager),
        },
        // It changes BareMetalHosts that are handed over to another server.
        Descriptor {
            name: "baremetalhost-hand-over",
            reconciles: &[],
            start: |manager, _| metal3_handover::start(manager),
        },
        Descriptor {
            name: "dataimage",
            reconciles: &[GroupKind::new(DataImage::GROUP, DataImage::KIND)],
            start: |manager, context| data_image::start(manager, context.control.clone()),
        },
        Descriptor {
            name: "hostfirmware",
            reconciles: &[
                GroupKind::new(HostFirmwareSettings::GROUP, HostFirmwareSettings::KIND),
                GroupKind::new(HostFirmwareComponents::GROUP, HostFirmwareComponents::KIND),
            ],
            start: |manager, context| firmware::start(manager, &context.control),
        },
        Descriptor {
            name: "bmceventsubscription",
            reconciles: &[GroupKind::new(BMCEventSubscription::GROUP, BMCEventSubscription::KIND)],
            start: |manager, context| subscription::start(manager, context.control.clone()),
        },
        Descriptor {
            name: "preprovisioningimage",
            reconciles: &[GroupKind::new(PreprovisioningImage::GROUP, PreprovisioningImage::KIND)],
            start: |manager, context| {
                if let Some(served) = &context.boot_images {
                    preprovisioning::start(manager, served.clone());
                }
            },
        },
    ],
}];

/// Starts the controllers of hosts, without any boot images.
pub fn start(manager: &Manager, control: Arc<dyn control::Control>) {
    let context = Context { control, boot_images: None };
    PROVIDERS.iter().for_each(|provider| provider.start(manager, &context));
}
