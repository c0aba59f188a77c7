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
mod service;
pub mod tasks;
pub mod vendor;

use std::collections::BTreeMap;

use futures::future::BoxFuture;

pub(crate) use self::service::Redfish;

use crate::client::Bmc;
use crate::{
    Boot, FirmwareComponent, Identity, Power, PowerAction, Result, Setting, Settings, Subscribed,
    Subscription, Task, TaskState,
};

impl Bmc for Redfish {
    fn power(&self) -> BoxFuture<'_, Result<Power>> {
        Box::pin(async { Ok(power::power(&self.read_system().await?.body)) })
    }

    fn set_power(&self, action: PowerAction) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.reset(action))
    }

    fn boot(&self) -> BoxFuture<'_, Result<Option<Boot>>> {
        Box::pin(async { Ok(boot::stored(&self.read_system().await?.body)) })
    }

    fn set_boot<'a>(&'a self, boot: &'a Boot) -> BoxFuture<'a, Result<Boot>> {
        Box::pin(self.choose_boot(boot))
    }

    fn insert_media<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.insert(url))
    }

    fn eject_media(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.eject())
    }

    fn media(&self) -> BoxFuture<'_, Result<Option<String>>> {
        Box::pin(self.inserted())
    }

    fn identity(&self) -> BoxFuture<'_, Result<Identity>> {
        Box::pin(self.read_identity())
    }

    fn secure_boot(&self) -> BoxFuture<'_, Result<bool>> {
        Box::pin(self.read_secure_boot())
    }

    fn set_secure_boot(&self, on: bool) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.change_secure_boot(on))
    }

    fn settings(&self) -> BoxFuture<'_, Result<Settings>> {
        Box::pin(self.read_settings())
    }

    fn set_settings<'a>(&'a self, settings: &'a BTreeMap<String, Setting>) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.change_settings(settings))
    }

    fn firmware(&self) -> BoxFuture<'_, Result<Vec<FirmwareComponent>>> {
        Box::pin(self.read_firmware())
    }

    fn update_firmware<'a>(&'a self, component: &'a str, url: &'a str) -> BoxFuture<'a, Result<Task>> {
        Box::pin(self.install(component, url))
    }

    fn task<'a>(&'a self, task: &'a Task) -> BoxFuture<'a, Result<TaskState>> {
        Box::pin(self.look_at(task))
    }

    fn subscriptions(&self) -> BoxFuture<'_, Result<Vec<Subscribed>>> {
        Box::pin(self.read_subscriptions())
    }

    fn subscribe<'a>(&'a self, subscription: &'a Subscription) -> BoxFuture<'a, Result<String>> {
        Box::pin(self.start_events(subscription))
    }

    fn unsubscribe<'a>(&'a self, identifier: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.end_events(identifier))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.http.close())
    }
}
