//! `upgrade plan`: the newer versions of all providers, for each contract.

use super::releases::Releases;
use super::{Item, UPGRADABLE};
use crate::deployments::is_in_process;
use crate::install::Tools;
use crate::inventory::{self, CONTRACT, Installed, compatible};
use crate::repository::Repository;
use crate::{Error, Result, table};

/// The upgrades that lead to one contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The contract of the core provider afterwards.
    pub contract: String,
    /// The providers, sorted by type, label and namespace.
    pub items: Vec<Item>,
}

/// The providers of a cluster with their releases; `None` for those that run in the process of the server, which have no other version.
pub(super) struct Providers(pub(super) Vec<(Installed, Option<Releases>)>);

impl Providers {
    /// Reads the inventory, and the releases of each provider.
    ///
    /// # Errors
    /// Cluster API is not installed, or the repository of a provider cannot be read.
    pub(super) async fn read(tools: &Tools<'_>) -> Result<Self> {
        if !inventory::installed_in(tools.client, &UPGRADABLE).await? {
            inventory::check(tools.client).await?;
        }
        let mut known = inventory::providers(tools.client).await?;
        known.sort_by_key(|one| (one.type_name.clone(), one.label(), one.namespace.clone()));
        let mut all = Vec::new();
        for provider in known {
            let releases = if is_in_process(tools.client, &provider).await? {
                None
            } else {
                Some(Releases::read(&provider, &repository(&provider, tools).await?).await?)
            };
            all.push((provider, releases));
        }
        Ok(Self(all))
    }

    /// The core provider.
    ///
    /// # Errors
    /// The cluster has no core provider, or several.
    pub(super) fn core(&self) -> Result<&(Installed, Option<Releases>)> {
        let mut core = self.0.iter().filter(|(provider, _)| provider.is_core());
        let found = core.clone().count();
        core.next().filter(|_| found == 1).ok_or_else(|| {
            Error::invalid(format!(
                "invalid management cluster: there must be one core provider, found {found}"
            ))
        })
    }

    /// The upgrades to the newest versions that work with `contract`.
    pub(super) fn plan(&self, contract: &str) -> Plan {
        let contracts = compatible(contract);
        let item = |(provider, releases): &(Installed, Option<Releases>)| Item {
            provider: provider.clone(),
            next: releases.as_ref().and_then(|releases| releases.newest(&contracts)),
        };
        Plan { contract: contract.to_owned(), items: self.0.iter().map(item).collect() }
    }
}

/// Opens the repository of an installed provider.
///
/// # Errors
/// The provider is not known.
pub(super) async fn repository(provider: &Installed, tools: &Tools<'_>) -> Result<Repository> {
    let known = tools.configuration.provider(&provider.name, provider.provider_type()?)?;
    Repository::open(&known, tools.configuration, tools.fetcher).await
}

/// Finds the upgrades for the contract of the core provider, and for newer contracts that all providers have.
///
/// # Errors
/// There is not exactly one core provider, or a repository cannot be read.
pub async fn plan(tools: &Tools<'_>) -> Result<Vec<Plan>> {
    (tools.say)("Checking new release availability...");
    let providers = Providers::read(tools).await?;
    let (_, core) = providers.core()?;
    let (current, contracts) = match core {
        Some(releases) => (releases.current_contract().to_owned(), releases.contracts()),
        None => (CONTRACT.to_owned(), [CONTRACT.to_owned()].into()),
    };
    let all = contracts.iter().map(|contract| providers.plan(contract));
    // Providers change their contract together, or not at all.
    let is_whole = |plan: &Plan| plan.items.iter().all(|item| item.next.is_some());
    Ok(all.filter(|plan| plan.contract == current || is_whole(plan)).collect())
}

impl Plan {
    /// The text that `upgrade plan` prints, with the name of the program in the command that it recommends.
    pub fn text(&self, program: &str) -> String {
        let contract = &self.contract;
        let mut rows =
            vec![["NAME", "NAMESPACE", "TYPE", "CURRENT VERSION", "NEXT VERSION"].map(str::to_owned)];
        for Item { provider, next } in &self.items {
            let next = next.clone().unwrap_or_else(|| "Already up to date".to_owned());
            let Installed { type_name, namespace, version, .. } = provider.clone();
            rows.push([provider.label(), namespace, type_name, version, next]);
        }
        let advice = if self.items.iter().all(|item| item.next.is_none()) {
            "You are already up to date!\n".to_owned()
        } else if contract == CONTRACT {
            format!(
                "You can now apply the upgrade by executing the following command:\n\n{program} upgrade apply --contract {contract}\n"
            )
        } else {
            format!(
                "The current version of clusterctl could not upgrade to {contract} contract (only {CONTRACT} supported).\n"
            )
        };
        format!(
            "\nLatest release available for the {contract} Cluster API contract version:\n\n{}\n{advice}\n",
            table::of(&rows)
        )
    }
}
