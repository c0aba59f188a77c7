//! Copies the DHCP leases to the cluster that takes over, so that it gives no machine the address of another one.

use anyhow::{Context, Result};
use kube::api::{ListParams, ObjectMeta, PostParams};
use kube::{Api, Client, Resource, ResourceExt};
use schemas::netboot::DHCPLease;

/// Creates the leases that the target does not have. Machines renew them there.
///
/// # Errors
/// The source cannot be read, or the target refuses a lease.
pub async fn copy_leases(from: &Client, to: &Client) -> Result<usize> {
    let (source, target): (Api<DHCPLease>, Api<DHCPLease>) = (Api::all(from.clone()), Api::all(to.clone()));
    let leases =
        source.list(&ListParams::default()).await.context("the leases of the source cannot be read")?;
    let mut copied = 0;
    for mut lease in leases.items {
        let name = lease.name_any();
        *lease.meta_mut() = ObjectMeta { name: Some(name.clone()), ..ObjectMeta::default() };
        match target.create(&PostParams::default(), &lease).await {
            Ok(_) => copied += 1,
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {}
            Err(error) => return Err(error).with_context(|| format!("the target refuses the lease {name}")),
        }
    }
    Ok(copied)
}
