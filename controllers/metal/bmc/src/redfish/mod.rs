//! Redfish (DMTF DSP0266), with the deviations of services of Dell, HPE and Supermicro.

pub mod bios;
pub mod boot;
mod connection;
mod events;
mod extension;
mod firmware;
mod http;
pub mod inventory;
mod links;
pub mod media;
pub mod message;
pub mod power;
mod secure_boot;
mod service;
pub mod tasks;
pub mod vendor;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;

use self::bios::{Bios, Constraints};
use self::events::Subscriptions;
use self::media::Cd;
use self::service::Service;
use crate::client::Bmc;
use crate::network::Network;
use crate::{
    BmcAddress, Boot, Credentials, Error, FirmwareComponent, Identity, Power, PowerAction, Result, Setting,
    Settings, Subscribed, Subscription, Task, TaskState, Verification,
};

/// The client of a Redfish service.
pub(crate) struct Redfish {
    service: Service,
    constraints: Constraints,
}

impl Redfish {
    pub(crate) fn new(
        address: BmcAddress,
        credentials: Credentials,
        verification: &Verification,
        network: Arc<dyn Network>,
    ) -> Result<Self> {
        let service = Service::new(address, credentials, verification, network)?;
        Ok(Self { service, constraints: Constraints::default() })
    }

    async fn cd(&self) -> Result<Cd<'_>> {
        Cd::of(&self.service, &self.service.system().await?).await
    }
}

impl Bmc for Redfish {
    fn lacks(&self, what: &str) -> Error {
        self.service.unsupported(what, "Redfish has nothing like it")
    }

    fn power(&self) -> BoxFuture<'_, Result<Power>> {
        Box::pin(async { Ok(power::power(&self.service.system().await?.body)) })
    }

    fn set_power(&self, action: PowerAction) -> BoxFuture<'_, Result<()>> {
        Box::pin(power::reset(&self.service, action))
    }

    fn boot(&self) -> BoxFuture<'_, Result<Option<Boot>>> {
        Box::pin(async { Ok(boot::stored(&self.service.system().await?.body)) })
    }

    fn set_boot<'a>(&'a self, boot: &'a Boot) -> BoxFuture<'a, Result<Boot>> {
        Box::pin(boot::choose(&self.service, boot))
    }

    fn insert_media<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { self.cd().await?.insert(url).await })
    }

    fn eject_media(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async { self.cd().await?.eject().await })
    }

    fn media(&self) -> BoxFuture<'_, Result<Option<String>>> {
        Box::pin(async { Ok(self.cd().await?.image()) })
    }

    fn identity(&self) -> BoxFuture<'_, Result<Identity>> {
        Box::pin(inventory::read(&self.service))
    }

    fn secure_boot(&self) -> BoxFuture<'_, Result<bool>> {
        Box::pin(secure_boot::read(&self.service))
    }

    fn set_secure_boot(&self, on: bool) -> BoxFuture<'_, Result<()>> {
        Box::pin(secure_boot::set(&self.service, on))
    }

    fn settings(&self) -> BoxFuture<'_, Result<Settings>> {
        Box::pin(async { Bios::of(&self.service).await?.settings(&self.constraints).await })
    }

    fn set_settings<'a>(&'a self, settings: &'a BTreeMap<String, Setting>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Bios::of(&self.service).await?.change(settings).await })
    }

    fn firmware(&self) -> BoxFuture<'_, Result<Vec<FirmwareComponent>>> {
        Box::pin(firmware::installed(&self.service))
    }

    fn update_firmware<'a>(&'a self, component: &'a str, url: &'a str) -> BoxFuture<'a, Result<Task>> {
        Box::pin(firmware::install(&self.service, component, url))
    }

    fn task<'a>(&'a self, task: &'a Task) -> BoxFuture<'a, Result<TaskState>> {
        Box::pin(self.service.look_at(task))
    }

    fn subscriptions(&self) -> BoxFuture<'_, Result<Vec<Subscribed>>> {
        Box::pin(async { Subscriptions::of(&self.service).await?.list().await })
    }

    fn subscribe<'a>(&'a self, subscription: &'a Subscription) -> BoxFuture<'a, Result<String>> {
        Box::pin(async { Subscriptions::of(&self.service).await?.add(subscription).await })
    }

    fn unsubscribe<'a>(&'a self, identifier: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(events::end(&self.service, identifier))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.service.close())
    }
}
