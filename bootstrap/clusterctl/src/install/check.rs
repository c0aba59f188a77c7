//! Checks before anything is installed.

use semver::Version;
use serde_json::Value;

use super::{Objects, Tools};
use crate::components::Components;
use crate::configuration::ProviderType;
use crate::inventory::{CONTRACT, Installed};
use crate::repository::Repository;
use crate::{Context, Error, Result, version};

/// The contracts that work with a core provider of [`CONTRACT`].
const COMPATIBLE: [&str; 2] = ["v1beta1", CONTRACT];
/// The annotation of definitions whose name may be another than that of the contract.
const SKIP_NAME: &str = "clusterctl.cluster.x-k8s.io/skip-crd-name-preflight-check";

/// Checks that all providers together can be installed.
///
/// # Errors
/// A provider is installed already, there is not exactly one core provider, a contract is not compatible, or a definition has a name that
/// Cluster API's controllers would not find.
pub(super) async fn check(all: &[Components], known: &[Installed], tools: &Tools<'_>) -> Result<()> {
    for components in all {
        let (name, type_name) = (&components.provider.name, components.provider.type_name());
        if known.iter().any(|known| known.name == *name && known.type_name == type_name) {
            return Err(Error::invalid(format!(
                "there is already an instance of the {:?} provider installed in the cluster",
                components.provider.label()
            )));
        }
        let same = all.iter().filter(|other| other.provider.label() == components.provider.label()).count();
        if same > 1 {
            return Err(Error::invalid(format!("{:?} is chosen twice", components.provider.label())));
        }
    }
    let is_core = |type_name: &str| type_name == ProviderType::Core.name();
    let new = all.iter().filter(|components| is_core(components.provider.type_name())).count();
    let old = known.iter().filter(|known| is_core(&known.type_name)).count();
    if new + old != 1 {
        return Err(Error::invalid(format!(
            "there must be exactly one core provider in the management cluster, and there would be {}",
            new + old
        )));
    }
    for components in all {
        contract(components, tools).await?;
        names(components)?;
    }
    Ok(())
}

async fn contract(components: &Components, tools: &Tools<'_>) -> Result<()> {
    let repository = Repository::open(&components.provider, tools.configuration, tools.fetcher).await?;
    let metadata = repository.metadata(&components.version).await?;
    let label = components.provider.label();
    let parsed: Version = version::parse(&components.version)
        .ok_or_else(|| Error::invalid(format!("could not parse {:?} as version", components.version)))?;
    let series = metadata.series_of(&parsed).ok_or_else(|| {
        Error::invalid(format!(
            "invalid provider metadata: version {} for the provider {label} does not match any release series",
            components.version
        ))
    })?;
    if COMPATIBLE.contains(&series.contract.as_str()) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the provider {label} {} implements the contract {}, and this management cluster needs one of {}",
        components.version,
        series.contract,
        COMPATIBLE.join(", ")
    )))
}

/// Checks that each definition has the name under which Cluster API's controllers look for it.
fn names(components: &Components) -> Result<()> {
    for object in components.objects.iter().filter(|object| object["kind"] == "CustomResourceDefinition") {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let name = text("/metadata/name");
        if object["metadata"]["annotations"].get(SKIP_NAME).is_some() {
            continue;
        }
        let expected =
            format!("{}.{}", engine::contract::plural(text("/spec/names/kind")), text("/spec/group"));
        if name != expected {
            return Err(Error::invalid(format!(
                "ERROR: CRD name {name:?} is invalid for a CRD named {:?} of group {:?}: it must be {expected:?}",
                text("/spec/names/kind"),
                text("/spec/group")
            )));
        }
    }
    Ok(())
}

/// Checks that somebody fulfils the certificates of the providers.
///
/// # Errors
/// A provider has a Certificate, and the cluster does not know this kind.
pub(super) async fn certificates(all: &[Components], objects: &Objects) -> Result<()> {
    let mut wanted = all.iter().flat_map(|components| &components.objects).filter(|object| {
        object["apiVersion"].as_str().is_some_and(|version| version.starts_with("cert-manager.io/"))
    });
    let Some(first) = wanted.next() else { return Ok(()) };
    let text = |field: &str| first[field].as_str().unwrap_or_default();
    let served = objects.is_served(text("apiVersion"), text("kind")).await;
    if served.context(|| "failed to look for cert-manager".to_owned())? {
        return Ok(());
    }
    Err(Error::invalid(
        "the providers need cert-manager, which is not installed in this management cluster: install it, or use a server of firstlight, which \
         fulfils their certificates itself",
    ))
}
