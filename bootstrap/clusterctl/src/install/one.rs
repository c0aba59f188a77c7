//! Installs one provider whose components are read already, for callers that change them before.

use super::{Objects, Tools, check, companions, install};
use crate::components::Components;
use crate::inventory::{self, Installed};
use crate::repository::Repository;
use crate::{Result, built_in};

/// Checks that the components can be installed, and returns the contract that they implement.
///
/// # Errors
/// The contract is not supported, a definition has a name that Cluster API's controllers would not find, or nobody fulfils the
/// certificates.
pub async fn check_one(
    components: &Components,
    repository: &Repository,
    tools: &Tools<'_>,
) -> Result<String> {
    let contract = check::contract(components, repository).await?;
    check::names(components)?;
    check::certificates(&[components], &Objects::new(tools)).await?;
    Ok(contract)
}

/// Creates or updates the objects of a provider and of what it needs beside itself, and then its entry in the inventory. It can be
/// repeated after a failure.
///
/// # Errors
/// The cluster refuses an object.
pub async fn install_one(components: &Components, repository: &Repository, tools: &Tools<'_>) -> Result<()> {
    inventory::ensure(tools.client).await?;
    let objects = Objects::new(tools);
    companions::install(components, repository, &objects, tools).await?;
    install(components, &objects, tools).await?;
    built_in::forget_replaced(&Installed::of(components), tools.client).await
}
