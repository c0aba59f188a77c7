//! `upgrade apply`: replaces providers by newer versions.

use std::time::Duration;

use super::Item;
use super::plan::{Plan, Providers};
use super::undo::Before;
use crate::components::{Components, Wanted};
use crate::configuration::{ProviderType, parse_name};
use crate::install::{Chosen, FLAGS, Objects, Tools, install, wait};
use crate::inventory::{CONTRACT, Installed, compatible};
use crate::removal::{self, Removal};
use crate::{Context, Error, Result, deployments, version};

/// How providers are upgraded.
#[derive(Debug, Clone)]
pub struct Options {
    /// The contract to whose newest versions all providers are upgraded; then none is chosen.
    pub contract: Option<String>,
    /// How long to wait until they run; `None` does not wait.
    pub wait: Option<Duration>,
}

/// The versions that Cluster API's own providers may be upgraded by at once, from this one on.
const MINORS: u64 = 3;
const SKEW_SINCE: (u64, u64) = (1, 10);

/// Upgrades the chosen providers, or all to the newest versions of a contract. If that fails, the old versions are installed again.
///
/// # Errors
/// The choice is not possible, a component cannot be read, the cluster refuses an object, or a provider does not run in time.
pub async fn apply(chosen: Chosen, options: &Options, tools: &Tools<'_>) -> Result<()> {
    let contract = options.contract.as_deref().filter(|contract| !contract.is_empty());
    match (contract, chosen.is_empty()) {
        (None, true) => {
            return Err(Error::invalid(format!(
                "Either the --contract flag or at least one of the following flags has to be set: {FLAGS}"
            )));
        }
        (Some(_), false) => {
            return Err(Error::invalid(format!(
                "The --contract flag can't be used in combination with {FLAGS}"
            )));
        }
        (Some(contract), true) if contract != CONTRACT => {
            return Err(Error::invalid(format!(
                "current version of clusterctl could only upgrade to {CONTRACT} contract, requested {contract}"
            )));
        }
        _ => {}
    }
    let providers = Providers::read(tools).await?;
    (tools.say)("Performing upgrade...");
    let plan = match contract {
        Some(contract) => providers.plan(contract),
        None => custom(chosen, &providers)?,
    };
    let mut items: Vec<(Item, String)> =
        plan.items.into_iter().filter_map(|item| item.next.clone().map(|next| (item, next))).collect();
    check_instances(&providers)?;
    items.iter().try_for_each(|(item, next)| check_skew(&item.provider, next))?;
    items.sort_by_key(|(item, _)| ProviderType::called(&item.provider.type_name));
    // What could fail without a change of the cluster comes first.
    let (mut all, mut old) = (Vec::new(), Vec::new());
    for (item, next) in items {
        all.push(fetch(&item.provider, &next, tools).await?);
        old.push(item.provider);
    }
    replace(&old, &all, options.wait, tools).await
}

/// Returns the plan for the providers that the user chose, if it leaves a cluster whose providers work together.
fn custom(chosen: Chosen, providers: &Providers) -> Result<Plan> {
    let items = chosen.each().map(|(text, kind)| item(&text, kind, providers));
    let items = items.collect::<Result<Vec<Item>>>()?;
    let next_of = |provider: &Installed| {
        let item = items.iter().find(|item| item.provider == *provider);
        item.and_then(|item| item.next.as_deref())
    };
    let (core, releases) = providers.core()?;
    let contract = match releases {
        Some(releases) => releases.contract_of(next_of(core).unwrap_or(&core.version))?.to_owned(),
        None => CONTRACT.to_owned(),
    };
    if contract != CONTRACT {
        return Err(Error::invalid(format!(
            "current version of clusterctl could only upgrade the core provider to {CONTRACT} contract version, requested {contract}"
        )));
    }
    let contracts = compatible(&contract);
    for (provider, releases) in &providers.0 {
        let (Some(releases), name) = (releases, provider.instance()) else { continue };
        let next = next_of(provider);
        let own = releases.contract_of(next.unwrap_or(&provider.version))?;
        if contracts.contains(&own) {
            continue;
        }
        let supported = contracts.join(", ");
        return Err(Error::invalid(match next {
            Some(_) => format!(
                "unable to perform upgrade: the target version for the provider {name} implements the {own} contract version, while the core provider supports {supported} contract versions"
            ),
            None => format!(
                "unable to perform upgrade: the provider {name} implements the {own} contract version, while the core provider is getting updated to a version that supports {supported} contract versions. Please include the {name} provider in the upgrade"
            ),
        }));
    }
    Ok(Plan { contract, items })
}

/// Parses `[NAMESPACE/]NAME:VERSION`.
fn item(text: &str, kind: ProviderType, providers: &Providers) -> Result<Item> {
    let form = || {
        format!(
            "invalid provider name {text:?}. Provider name should be in the form namespace/provider:version or provider:version"
        )
    };
    let (namespace, rest) = match text.split_once('/') {
        Some((namespace, rest)) if !namespace.is_empty() => (Some(namespace.to_lowercase()), rest),
        None => (None, text),
        Some(_) => return Err(Error::invalid(form())),
    };
    let (name, version) = parse_name(rest).context(form)?;
    let Some(version) = version else { return Err(Error::invalid(form())) };
    let is_meant = |one: &Installed| {
        one.name == name
            && one.type_name == kind.name()
            && namespace.as_ref().is_none_or(|namespace| *namespace == one.namespace)
    };
    let mut found = providers.0.iter().filter(|(provider, _)| is_meant(provider));
    let (Some((provider, releases)), None) = (found.next(), found.next()) else {
        return Err(Error::invalid(match namespace {
            None => format!("unable to find default namespace for provider {text:?}"),
            Some(_) => format!(
                "unable to perform upgrade: the provider {text} in not part of the management cluster"
            ),
        }));
    };
    if releases.is_none() {
        return Err(Error::invalid(format!(
            "{} runs in the process of the server, and is upgraded with it; the server's flag --controllers chooses what runs",
            provider.label()
        )));
    }
    Ok(Item { provider: provider.clone(), next: Some(version) })
}

fn check_instances(providers: &Providers) -> Result<()> {
    for (provider, _) in &providers.0 {
        let same = providers.0.iter().filter(|(other, _)| other.label() == provider.label());
        let names: Vec<String> = same.map(|(other, _)| other.instance()).collect();
        if names.len() > 1 {
            return Err(Error::invalid(format!(
                "detected multiple instances of the same provider, but clusterctl does not support this use case. See https://cluster-api.sigs.k8s.io/developer/core/support-multiple-instances for more details: multiple instance of provider type {:?} found: [{}]",
                provider.label(),
                names.join(" ")
            )));
        }
    }
    Ok(())
}

/// Checks that a provider of Cluster API itself is not upgraded by too many minor versions at once.
///
/// # Errors
/// The version is too new.
pub fn check_skew(provider: &Installed, next: &str) -> Result<()> {
    if !["cluster-api", "bootstrap-kubeadm", "control-plane-kubeadm"].contains(&provider.label().as_str()) {
        return Ok(());
    }
    let parsed = |text: &str, which: &str| {
        version::parse(text).ok_or_else(|| {
            Error::invalid(format!("failed to parse {which} version for {} provider", provider.instance()))
        })
    };
    let (current, next) = (parsed(&provider.version, "current")?, parsed(next, "next")?);
    if (current.major, current.minor) >= SKEW_SINCE && next.minor > current.minor + MINORS {
        return Err(Error::invalid(format!(
            "upgrade for {} provider can't skip more than {MINORS} versions",
            provider.instance()
        )));
    }
    Ok(())
}

/// Replaces an installed provider by components that are read already. If that fails, the old version is installed again.
///
/// # Errors
/// The cluster refuses an object, or the provider does not run in time.
pub async fn replace_one(
    provider: &Installed,
    components: &Components,
    wait: Option<Duration>,
    tools: &Tools<'_>,
) -> Result<()> {
    replace(std::slice::from_ref(provider), std::slice::from_ref(components), wait, tools).await
}

/// Replaces each provider by its components.
async fn replace(
    providers: &[Installed],
    all: &[Components],
    wait: Option<Duration>,
    tools: &Tools<'_>,
) -> Result<()> {
    let mut before = Vec::new();
    for provider in providers {
        before.push(Before::read(provider, tools).await?);
    }
    let outcome = install_all(providers, all, wait, tools).await;
    let Err(error) = outcome else { return Ok(()) };
    (tools.say)(&format!("The upgrade failed, and the old versions are installed again: {error}"));
    for old in before {
        old.restore(tools).await.context(|| format!("{error}; it could not be undone"))?;
    }
    Err(Error::Undone(Box::new(error)))
}

async fn install_all(
    providers: &[Installed],
    all: &[Components],
    wait: Option<Duration>,
    tools: &Tools<'_>,
) -> Result<()> {
    for provider in providers {
        (tools.say)(&format!("Scaling down provider={:?} version={:?}", provider.label(), provider.version));
        deployments::scale_down(tools.client, provider, tools.clock).await?;
    }
    let objects = Objects::new(tools);
    for (provider, components) in providers.iter().zip(all) {
        (tools.say)(&format!("Deleting provider={:?} version={:?}", provider.label(), provider.version));
        removal::delete(tools.client, provider, Removal::default()).await?;
        install(components, &objects, tools).await?;
    }
    match wait {
        Some(limit) => wait::until_available(all, limit, tools).await,
        None => Ok(()),
    }
}

async fn fetch(provider: &Installed, next: &str, tools: &Tools<'_>) -> Result<Components> {
    let kind = provider.provider_type()?;
    let wanted = Wanted { namespace: Some(provider.namespace.clone()), raw: false };
    let name = format!("{}:{next}", provider.name);
    Components::fetch(&name, kind, tools.configuration, tools.fetcher, &wanted).await
}
