//! Metal3's data templates: each machine of a cluster gets an index of the template, and metadata and network data that are rendered from
//! the template, the index, the machine's host, and addresses of IP pools.
//!
//! [`template`] is the controller of Metal3DataTemplates with their Metal3DataClaims: a claim gets an index by the creation of the
//! Metal3Data that has the index in its name. [`metal3_data`] is the controller of Metal3Data: it claims addresses ([`pools`]) and writes the
//! Secrets with [`metadata`] and [`network_data`], which are pure.

pub mod metadata;
pub mod metal3_data;
pub mod names;
pub mod network_data;
mod networks;
pub mod pools;
pub mod subject;
pub mod template;

use engine::{Descriptor, GroupKind, Provider};
use schemas::infrastructure::{Metal3Data, Metal3DataClaim, Metal3DataTemplate};

/// The table of the controllers of data templates.
pub const PROVIDERS: &[Provider] = &[Provider {
    inventory: None,
    controllers: &[
        Descriptor {
            name: "metal3datatemplate",
            reconciles: &[
                GroupKind::new(Metal3DataTemplate::GROUP, Metal3DataTemplate::KIND),
                GroupKind::new(Metal3DataClaim::GROUP, Metal3DataClaim::KIND),
            ],
            start: |manager, ()| template::start(manager),
        },
        Descriptor {
            name: "metal3data",
            reconciles: &[GroupKind::new(Metal3Data::GROUP, Metal3Data::KIND)],
            start: |manager, ()| metal3_data::start(manager),
        },
    ],
}];
