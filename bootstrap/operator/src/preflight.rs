//! The checks before anything is fetched, in the order of upstream's.

use clusterctl::configuration::ProviderType;
use clusterctl::version;
use engine::conditions::is_false;
use schemas::meta::Condition;
use semver::Version;

use crate::conditions::{
    DOWNGRADE, INCORRECT_CORE_NAME, INCORRECT_VERSION, INVALID_SOURCE, MORE_THAN_ONE, NO_SECRET, PREFLIGHT,
    WAITING_FOR_CORE,
};
use crate::declared::Declared;
use crate::names::CORE_NAME;
use crate::observe::Observed;
use crate::referred::Referred;

type Checked = Result<(), Box<Condition>>;

/// Checks whether the provider can be installed.
///
/// # Errors
/// The condition that says what is in the way.
pub(crate) fn check(seen: &Observed) -> Checked {
    check_version(seen)?;
    check_name(&seen.object)?;
    check_source(seen)?;
    check_secret(seen)?;
    check_alone(seen)?;
    check_core(seen)
}

fn refused(reason: &str, message: impl Into<String>) -> Checked {
    Err(Box::new(is_false(PREFLIGHT, reason, message)))
}

fn check_version(seen: &Observed) -> Checked {
    let Some(text) = seen.object.version() else { return Ok(()) };
    let Some(wanted) = version::parse(text) else {
        return refused(
            INCORRECT_VERSION,
            format!("spec.version {text:?} is not a semantic version such as v1.2.3"),
        );
    };
    // Whatever version is declared of them, those that run in the server are upgraded with it.
    if seen.in_process.is_some() {
        return Ok(());
    }
    let installed = seen.entry().and_then(|entry| version::parse(&entry.version));
    let minor = |version: &Version| (version.major, version.minor);
    match installed {
        Some(installed) if minor(&wanted) < minor(&installed) => refused(
            DOWNGRADE,
            format!(
                "Downgrade is not supported: v{installed} of {} is installed",
                seen.object.provider.label()
            ),
        ),
        _ => Ok(()),
    }
}

fn check_name(object: &Declared) -> Checked {
    let name = &object.provider.name;
    if object.kind() == ProviderType::Core && name != CORE_NAME {
        return refused(
            INCORRECT_CORE_NAME,
            format!("Incorrect CoreProvider name: {name}. It should be {CORE_NAME}"),
        );
    }
    Ok(())
}

fn check_source(seen: &Observed) -> Checked {
    let source = seen.object.spec.fetch_config.as_ref();
    let is_given = |text: Option<&String>| text.is_some_and(|text| !text.is_empty());
    let url = source.and_then(|source| source.url.as_ref());
    let given = [
        is_given(url),
        is_given(source.and_then(|source| source.oci.as_ref())),
        source.is_some_and(|source| source.selector.is_some()),
    ];
    match given.iter().filter(|is_given| **is_given).count() {
        0 if seen.in_process.is_some() || seen.is_known => Ok(()),
        0 => refused(
            INVALID_SOURCE,
            format!(
                "neither clusterctl nor its configuration knows {}: set url, oci or selector of spec.fetchConfig",
                seen.object.provider.label()
            ),
        ),
        // A folder of this machine is for the owner of the machine, who has clusterctl's configuration for it.
        1 if url.is_some_and(|url| !url.is_empty() && !url.starts_with("https://")) => {
            refused(INVALID_SOURCE, "spec.fetchConfig.url must begin with https://")
        }
        1 => Ok(()),
        _ => refused(INVALID_SOURCE, "Only one of url, oci and selector of spec.fetchConfig must be set"),
    }
}

fn check_secret(seen: &Observed) -> Checked {
    match &seen.secret {
        Referred::Missing(secret) => {
            refused(NO_SECRET, format!("the {secret} of spec.configSecret does not exist"))
        }
        _ => Ok(()),
    }
}

/// Of several objects of one provider, the first one counts: the one that has installed it, or else the oldest.
fn check_alone(seen: &Observed) -> Checked {
    let own = &seen.object;
    let is_core = own.kind() == ProviderType::Core;
    let is_same = |other: &&Declared| is_core || other.provider.name == own.provider.name;
    let first = seen
        .others
        .iter()
        .filter(is_same)
        .filter(|other| rank(other) < rank(own))
        .min_by_key(|other| rank(other));
    if let Some(other) = first {
        let message = if is_core {
            "CoreProvider already exists in the cluster. Only one is allowed.".to_owned()
        } else {
            format!(
                "There is already a {} with name {} in the namespace {}. Only one is allowed.",
                own.provider.type_name(),
                other.provider.name,
                other.namespace
            )
        };
        return refused(MORE_THAN_ONE, message);
    }
    match seen.entry() {
        Some(entry) if seen.in_process.is_none() && entry.namespace != own.namespace => refused(
            MORE_THAN_ONE,
            format!(
                "{} {} is installed in the namespace {} already: create this object there",
                entry.label(),
                entry.version,
                entry.namespace
            ),
        ),
        _ => Ok(()),
    }
}

fn rank(
    object: &Declared,
) -> (bool, bool, Option<&k8s_openapi::apimachinery::pkg::apis::meta::v1::Time>, &str, &str) {
    let (has_components, namespace) = (object.has_components(), object.namespace.as_str());
    // One that goes and has nothing is in nobody's way.
    let goes = object.is_deleting && !has_components;
    (goes, !has_components, object.created.as_ref(), namespace, object.provider.name.as_str())
}

fn check_core(seen: &Observed) -> Checked {
    if seen.object.kind() == ProviderType::Core || seen.in_process.is_some() {
        return Ok(());
    }
    if seen.inventory.iter().any(|entry| entry.is_core()) {
        return Ok(());
    }
    refused(WAITING_FOR_CORE, "Waiting for the CoreProvider to be installed.")
}
