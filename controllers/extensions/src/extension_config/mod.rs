//! The ExtensionConfig controller: it asks each extension which handlers it has. A deleted ExtensionConfig needs no work: its handlers are those in its
//! status.

mod observe;
mod observed;
mod plan;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::controller::requests_of;
use engine::object::{annotation, is_deleting};
use engine::{
    Action, Controller, Descriptor, Error, Frame, GroupKind, Manager, Membership, NamespacedName, Objects,
    Outcome, Planned, Result,
};
use k8s_openapi::api::core::v1::Secret;
use schemas::cluster::Cluster;
use schemas::runtime::ExtensionConfig;

pub use observed::Observed;
pub use plan::{Plan, plan};

use crate::client::Client;
use crate::names::{DISCOVERED, INJECT_AUTHORITY_FROM};

/// Index of ExtensionConfigs by the Secret whose authority they want.
const BY_SECRET: &str = "secret";

/// The descriptor of the controller.
pub const CONTROLLER: Descriptor<Client> = Descriptor {
    name: "extensionconfig",
    reconciles: &[GroupKind::new(ExtensionConfig::GROUP, ExtensionConfig::KIND)],
    start,
};

/// The controller of ExtensionConfigs.
struct ExtensionConfigController {
    manager: Manager,
    configs: Objects<ExtensionConfig>,
    secrets: Objects<Secret>,
    client: Client,
}

/// Starts the controller, unless the feature gate is off.
fn start(manager: &Manager, client: &Client) {
    if !manager.features().runtime_sdk {
        return;
    }
    let this = ExtensionConfigController {
        manager: manager.clone(),
        configs: manager.objects(),
        secrets: manager.objects(),
        client: client.clone(),
    };
    this.configs.index(BY_SECRET, |config| {
        annotation(config, INJECT_AUTHORITY_FROM).map(str::to_owned).into_iter().collect()
    });
    let wanting = this.configs.clone();
    Controller::new(manager, CONTROLLER.name)
        .reconciles(&this.configs)
        .watches(&this.secrets, move |change| {
            requests_of(&wanting.by_index(BY_SECRET, &change.name().to_string()))
        })
        .start(Frame::new(this));
}

impl Planned for ExtensionConfigController {
    type Object = ExtensionConfig;
    type Observed = Observed;
    type Plan = Plan;

    const FINALIZER: Option<&'static str> = None;
    const OWNED: &'static [&'static str] = &[DISCOVERED, "Paused"];

    fn objects(&self) -> &Objects<ExtensionConfig> {
        &self.configs
    }

    fn manager(&self) -> &Manager {
        &self.manager
    }

    fn cluster(&self, _: &Arc<ExtensionConfig>) -> Membership {
        Membership::None
    }

    async fn observe(
        &self,
        config: Arc<ExtensionConfig>,
        _: Option<Arc<Cluster>>,
    ) -> Result<Option<Observed>> {
        if is_deleting(config.as_ref()) {
            return Ok(None);
        }
        Ok(Some(self.read(config).await))
    }

    fn plan(observed: &Observed, now: DateTime<Utc>) -> Plan {
        plan(observed, now)
    }

    async fn apply(&self, _: &Observed, plan: Plan) -> Outcome<ExtensionConfig> {
        let errors = plan.failure.map(Error::Failed).into_iter().collect();
        Outcome { wanted: Some(plan.wanted), errors, action: Action::done() }
    }
}

impl ExtensionConfigController {
    /// Returns the Secret that the annotation of `config` names.
    fn secret(&self, name: &NamespacedName) -> Option<Arc<Secret>> {
        self.secrets.get(name)
    }
}
