//! Bootstrap data as an Ignition 2.3 configuration, for hosts without cloud-init. Pure functions.
//!
//! The content is that of the Container Linux Config which Cluster API makes: a unit runs `/etc/kubeadm.sh` once, at
//! the end of which kubeadm's configuration is moved away. Ignition replaces nothing in files, so that commands
//! before kubeadm have to (for example with `envsubst`) where cloud-init would render a template.

mod additional;
mod config;
mod disks;
mod files;
mod system;

use schemas::bootstrap::{ContainerLinuxConfig, DiskSetup, Ntp, User};

use crate::cloudinit::{File, Verb};
use crate::error::{Error, Result};
pub use config::Config;

/// The inputs of an Ignition configuration.
#[derive(Debug, Clone)]
pub struct Ignition<'a> {
    /// Files, in order, without kubeadm's configuration.
    pub files: Vec<File>,
    /// kubeadm's configuration.
    pub kubeadm: &'a str,
    /// Commands that run before kubeadm.
    pub before: &'a [String],
    /// Commands that run after kubeadm.
    pub after: &'a [String],
    /// The kubeadm command.
    pub verb: Verb,
    /// kubeadm's log level.
    pub verbosity: Option<i32>,
    /// Time synchronization.
    pub ntp: Option<&'a Ntp>,
    /// Users, with their passwords filled in.
    pub users: &'a [User],
    /// Partitions and filesystems.
    pub disk_setup: Option<&'a DiskSetup>,
    /// Mounts: a filesystem's label, a path, and options.
    pub mounts: &'a [Vec<String>],
    /// A Container Linux Config that is added.
    pub additional: Option<&'a ContainerLinuxConfig>,
}

impl Ignition<'_> {
    /// Renders the configuration as JSON.
    ///
    /// # Errors
    /// [`Error::Bootstrap`] names the field that cannot be expressed.
    pub fn render(&self) -> Result<String> {
        let mut config = Config::default();
        system::users(&mut config, self.users);
        system::units(&mut config, self)?;
        disks::write(&mut config, self.disk_setup);
        files::write(&mut config, self)?;
        if let Some(additional) = self.additional
            && let Some(text) = additional.additional_config.as_deref().filter(|text| !text.trim().is_empty())
        {
            let added = additional::parse(text, additional.strict == Some(true)).map_err(|why| {
                let field = "spec.ignition.containerLinuxConfig.additionalConfig";
                Error::Bootstrap(format!("{field}: {why}"))
            })?;
            config.append(added);
        }
        Ok(config.json())
    }
}
