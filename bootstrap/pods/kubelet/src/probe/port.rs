//! The port that a probe names.

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Container;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// Returns the number of a port, which may be a name of one of the container's ports.
///
/// # Errors
/// The container has no port of this name, or it is no number of a port.
pub fn port(port: &IntOrString, container: &Container) -> Result<u16> {
    let number = match port {
        IntOrString::Int(number) => Some(*number),
        IntOrString::String(name) => {
            let named = container.ports.iter().flatten().find(|one| one.name.as_ref() == Some(name));
            named.map(|one| one.container_port).or_else(|| name.parse().ok())
        }
    };
    number
        .and_then(|number| u16::try_from(number).ok())
        .with_context(|| format!("the container has no port {port:?}"))
}
