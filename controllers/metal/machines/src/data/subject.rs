//! The objects from which the data of a machine are rendered.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemas::cluster::Machine;
use schemas::infrastructure::Metal3Machine;
use schemas::metal3::{BareMetalHost, Nic};

/// A machine with its objects of Metal3.
#[derive(Debug, Clone, Default)]
pub struct Subject {
    /// The Machine.
    pub machine: Arc<Machine>,
    /// The Metal3Machine.
    pub metal3_machine: Arc<Metal3Machine>,
    /// The BareMetalHost.
    pub host: Arc<BareMetalHost>,
}

impl Subject {
    /// Returns the metadata of `machine`, `metal3machine` or `baremetalhost`, in any case of letters.
    ///
    /// # Errors
    /// Another word.
    pub fn object(&self, word: &str) -> Result<&ObjectMeta, String> {
        match word.to_lowercase().as_str() {
            "machine" => Ok(&self.machine.metadata),
            "metal3machine" => Ok(&self.metal3_machine.metadata),
            "baremetalhost" => Ok(&self.host.metadata),
            _ => Err(format!("object {word:?} is none of machine, metal3machine and baremetalhost")),
        }
    }

    /// Returns the name of an object.
    ///
    /// # Errors
    /// See [`Subject::object`].
    pub fn name(&self, word: &str) -> Result<&str, String> {
        Ok(self.object(word)?.name.as_deref().unwrap_or_default())
    }

    /// Returns the value of a label; empty if the object does not have it.
    ///
    /// # Errors
    /// See [`Subject::object`].
    pub fn label(&self, word: &str, key: &str) -> Result<&str, String> {
        let labels = self.object(word)?.labels.as_ref();
        Ok(labels.and_then(|labels| labels.get(key)).map_or("", String::as_str))
    }

    /// Returns the value of an annotation; empty if the object does not have it.
    ///
    /// # Errors
    /// See [`Subject::object`].
    pub fn annotation(&self, word: &str, key: &str) -> Result<&str, String> {
        let annotations = self.object(word)?.annotations.as_ref();
        Ok(annotations.and_then(|annotations| annotations.get(key)).map_or("", String::as_str))
    }

    /// Returns the MAC address of a network interface of the host.
    ///
    /// # Errors
    /// The host has no such interface, or has not been inspected.
    pub fn mac(&self, interface: &str) -> Result<&str, String> {
        let host = self.host_name();
        let hardware = self.host.status.as_ref().and_then(|status| status.hardware.as_ref());
        let hardware = hardware.ok_or_else(|| {
            format!("interface {interface:?}: {host} has no hardware details in its status, because it has not been inspected")
        })?;
        let found = hardware.nics.iter().find(|nic| nic.name.as_deref() == Some(interface));
        match found.and_then(|nic| nic.mac.as_deref()).filter(|mac| !mac.is_empty()) {
            Some(mac) => Ok(mac),
            None => Err(format!("{host} has no interface {interface:?}; it has {}", list(&hardware.nics))),
        }
    }

    /// Returns the host for messages.
    pub fn host_name(&self) -> String {
        let metadata = &self.host.metadata;
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        format!("BareMetalHost {}/{}", text(&metadata.namespace), text(&metadata.name))
    }
}

/// Lists the interfaces of a host, each once.
fn list(nics: &[Nic]) -> String {
    let text = |nic: &Nic| {
        let mac = nic.mac.as_deref().filter(|mac| !mac.is_empty());
        format!("{} ({})", nic.name.as_deref().unwrap_or_default(), mac.unwrap_or("no MAC address"))
    };
    let mut all: Vec<String> = nics.iter().map(text).collect();
    all.dedup();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}
