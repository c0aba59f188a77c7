//! `delete`: removes providers from a management cluster.

use kube::Client;

use crate::configuration::{ProviderType, parse_name};
use crate::deployments::is_in_process;
use crate::install::{Chosen, FLAGS, Tools};
use crate::inventory::{self, Installed};
use crate::removal::{Removal, joined, kinds_with_objects};
use crate::{Error, Result, built_in, removal};

/// How providers are deleted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Whether all providers are deleted; then none is chosen.
    pub all: bool,
    /// Whether their kinds are deleted, too.
    pub include_definitions: bool,
    /// Whether their namespaces are deleted, too.
    pub include_namespace: bool,
}

/// Deletes the chosen providers, or all.
///
/// # Errors
/// A provider is not installed in the given version, there are objects of kinds that are to be deleted, or the cluster refuses.
pub async fn delete(chosen: Chosen, options: Options, tools: &Tools<'_>) -> Result<()> {
    let is_chosen = !chosen.is_empty();
    if options.all && is_chosen {
        return Err(Error::invalid(format!("The --all flag can't be used in combination with {FLAGS}")));
    }
    if !options.all && !is_chosen {
        return Err(Error::invalid(format!(
            "At least one of {FLAGS} should be specified or the --all flag should be set"
        )));
    }
    inventory::check(tools.client).await?;
    let known = inventory::providers(tools.client).await?;
    let wanted = if options.all { known } else { named(chosen, &known)? };
    let mut providers = Vec::new();
    for provider in wanted {
        if is_in_process(tools.client, &provider).await? {
            let why = format!("{} runs in the process of the server, and is not deleted", provider.label());
            if options.all {
                (tools.say)(&why);
                continue;
            }
            return Err(Error::invalid(format!("{why}; the server's flag --controllers chooses what runs")));
        }
        providers.push(provider);
    }
    if options.include_definitions {
        check_no_objects(&providers, tools).await?;
    }
    for provider in &providers {
        (tools.say)(&format!(
            "Deleting provider={:?} version={:?} targetNamespace={:?}",
            provider.label(),
            provider.version,
            provider.namespace
        ));
        let what = Removal {
            definitions: options.include_definitions,
            namespace: options.include_namespace,
            inventory: true,
        };
        removal::delete(tools.client, provider, what).await?;
        if let Err(error) = built_in::list_again(provider, what, tools.client).await {
            (tools.say)(&format!(
                "{} also runs in the server, whose next start lists it again: {error}",
                provider.label()
            ));
        }
    }
    Ok(())
}

/// Deletes the components of a provider and its entry in the inventory; its kinds with their objects, and its namespace, stay.
///
/// # Errors
/// The cluster refuses a deletion; all others are done nevertheless.
pub async fn delete_one(provider: &Installed, client: &Client) -> Result<()> {
    let what = Removal { inventory: true, ..Removal::default() };
    removal::delete(client, provider, what).await?;
    built_in::list_again(provider, what, client).await
}

/// Finds the chosen providers among the installed ones.
fn named(chosen: Chosen, known: &[Installed]) -> Result<Vec<Installed>> {
    chosen.each().map(|(name, kind)| one(&name, kind, known)).collect()
}

fn one(text: &str, kind: ProviderType, known: &[Installed]) -> Result<Installed> {
    let (name, version) = parse_name(text)?;
    let mut own = known.iter().filter(|one| one.name == name && one.type_name == kind.name());
    let (Some(found), None) = (own.next(), own.next()) else {
        return Err(Error::invalid(format!("failed to identify the namespace for the {name:?} provider")));
    };
    match version {
        Some(version) if version != found.version => {
            Err(Error::invalid(format!("failed to identify the provider {name:?} with version {version:?}")))
        }
        _ => Ok(found.clone()),
    }
}

async fn check_no_objects(providers: &[Installed], tools: &Tools<'_>) -> Result<()> {
    let mut errors = Vec::new();
    for provider in providers {
        let kinds = kinds_with_objects(tools.client, provider).await?;
        if !kinds.is_empty() {
            errors.push(format!(
                "found existing objects for provider CRDs {:?}: [{}]. Please delete these objects first before running clusterctl delete with --include-crd",
                provider.label(),
                kinds.join(", ")
            ));
        }
    }
    joined(errors)
}
