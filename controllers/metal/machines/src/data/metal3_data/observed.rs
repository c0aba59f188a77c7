//! The state that the plan depends on.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemas::infrastructure::{Metal3Data, Metal3DataTemplate, Metal3Machine};

use super::claims::Leased;
use crate::data::subject::Subject;

/// The state that the plan depends on.
#[derive(Debug)]
pub struct Observed {
    /// The Metal3Data.
    pub data: Arc<Metal3Data>,
    /// Its template, if it exists.
    pub template: Option<Arc<Metal3DataTemplate>>,
    /// Whether its Metal3DataClaim exists.
    pub has_claim: bool,
    /// The Metal3Machine, if it exists.
    pub metal3_machine: Option<Arc<Metal3Machine>>,
    /// Machine, Metal3Machine and BareMetalHost, if all exist.
    pub subject: Option<Subject>,
    /// The host that the Metal3Machine names and that does not exist.
    pub missing_host: Option<String>,
    /// Whether the Secret with the metadata exists.
    pub has_metadata: bool,
    /// Whether the Secret with the network data exists.
    pub has_network_data: bool,
    /// The claims by the names of the pools of the template; or what is wrong with the references to them.
    pub leases: Result<BTreeMap<String, Leased>, String>,
}
