//! Bootstrap data as an Ignition 2.3 configuration, for hosts without cloud-init. Pure functions.
//!
//! The content is that of the Container Linux Config which Cluster API makes: a unit runs `/etc/kubeadm.sh` once, at
//! the end of which kubeadm's configuration is moved away. Ignition replaces nothing in files, so that commands
//! before kubeadm have to (for example with `envsubst`) where cloud-init would render a template.

mod config;
mod disks;
mod files;
mod system;

use schemas::bootstrap::ContainerLinuxConfig;
use schemas::container_linux;

use crate::error::{Error, Result};
use crate::host::Host;
pub use config::Config;

/// Renders the configuration as JSON. `kubeadm` is kubeadm's configuration, and `additional` a Container Linux Config that is added.
///
/// # Errors
/// [`Error::Bootstrap`] names the field that cannot be expressed.
pub fn render(host: &Host<'_>, kubeadm: &str, additional: Option<&ContainerLinuxConfig>) -> Result<String> {
    let mut config = Config::default();
    system::users(&mut config, host.users);
    system::units(&mut config, host)?;
    disks::write(&mut config, host.disk_setup);
    files::write(&mut config, host, kubeadm)?;
    if let Some(additional) = additional
        && let Some(text) = additional.additional_config.as_deref().filter(|text| !text.trim().is_empty())
    {
        let added = container_linux::ignition(text, additional.strict == Some(true)).map_err(|why| {
            let field = "spec.ignition.containerLinuxConfig.additionalConfig";
            Error::Bootstrap(format!("{field}: {why}"))
        })?;
        config.append(added);
    }
    Ok(config.json())
}
