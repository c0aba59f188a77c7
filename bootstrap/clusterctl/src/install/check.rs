//! Checks before anything is installed.

use semver::Version;
use serde_json::Value;

use super::objects::Objects;
use super::tools::Tools;
use crate::components::Components;
use crate::inventory::{CONTRACT, Installed, compatible};
use crate::repository::Repository;
use crate::{Context, Error, Result, version};

/// The annotation of definitions whose name may be another than that of the contract.
const SKIP_NAME: &str = "clusterctl.cluster.x-k8s.io/skip-crd-name-preflight-check";

/// Checks that all providers together can be installed.
///
/// # Errors
/// A provider is installed already, there is not exactly one core provider, a contract is not compatible, or a definition has a name that
/// Cluster API's controllers would not find.
pub(super) async fn check(all: &[Components], known: &[Installed], tools: &Tools<'_>) -> Result<()> {
    let mut after: Vec<Installed> = known.to_vec();
    for components in all {
        let new = Installed::of(components);
        let label = new.label();
        let same = after.iter().filter(|one| one.label() == label);
        let namespaces: Vec<&str> = same.map(|one| one.namespace.as_str()).collect();
        if !namespaces.is_empty() {
            return Err(Error::invalid(format!(
                "installing provider {label:?} can lead to a non functioning management cluster: there is already an instance of the {label:?} provider installed in the {:?} namespace",
                namespaces.join(", ")
            )));
        }
        after.push(new);
    }
    let core = after.iter().filter(|one| one.is_core()).count();
    if core != 1 {
        return Err(Error::invalid(format!(
            "invalid management cluster: there must be one core provider, found {core}"
        )));
    }
    for components in all {
        let repository = Repository::open(&components.provider, tools.configuration, tools.fetcher).await?;
        contract(components, &repository).await?;
    }
    all.iter().try_for_each(names)
}

/// Returns the contract that the components implement.
///
/// # Errors
/// Their version is in no release series of the repository, or this program does not support the contract.
pub(super) async fn contract(components: &Components, repository: &Repository) -> Result<String> {
    let (label, version) = (components.provider.label(), &components.version);
    let metadata = repository.metadata(version).await.context(|| {
        format!(
            "failed to fetch metadata for provider {label:?} (version {version}). Check that the release tag exists and the repository URL is correct — the project may have moved or the tag may be missing metadata.yaml"
        )
    })?;
    let instance = Installed::of(components).instance();
    let parsed: Version = version::parse(version).ok_or_else(|| {
        Error::invalid(format!("failed to parse current version for the {instance} provider"))
    })?;
    let Some(series) = metadata.series_of(&parsed) else {
        let known = metadata.release_series.iter();
        let known: Vec<String> = known.map(|one| format!("{}.{}", one.major, one.minor)).collect();
        return Err(Error::invalid(format!(
            "invalid provider metadata: version {version} for the provider {instance} does not match any release series. Available series: [{}]. This usually means the release tag lacks an updated metadata.yaml or the repository URL is stale.",
            known.join(", ")
        )));
    };
    let compatible = compatible(CONTRACT);
    if compatible.contains(&series.contract.as_str()) {
        return Ok(series.contract.clone());
    }
    Err(Error::invalid(format!(
        "current version of clusterctl is only compatible with providers implementing the {} contract versions, detected contract version {} for provider {label}",
        compatible.join(", "),
        series.contract
    )))
}

/// Checks that each definition has the name under which Cluster API's controllers look for it.
///
/// # Errors
/// A definition has another name.
pub(super) fn names(components: &Components) -> Result<()> {
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
                "ERROR: CRD name {name:?} is invalid for a CRD referenced in a core Cluster API CRD,it should be {expected:?}. Support for CRDs that are referenced in core Cluster API resources with invalid names has been dropped. Note: Please check if this CRD is actually referenced in core Cluster API CRDs. If not, this warning can be hidden by setting the \"{SKIP_NAME}\"' annotation."
            )));
        }
    }
    Ok(())
}

/// Checks that somebody fulfils the certificates of the providers.
///
/// # Errors
/// A provider has a Certificate, and the cluster does not know this kind.
pub(super) async fn certificates(all: &[&Components], objects: &Objects) -> Result<()> {
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
