//! Upgrade plans: the versions that control plane and workers go through.
//!
//! The rules are those of Cluster API's `exp/topology/desiredstate/upgrade_plan.go`: a control plane skips no minor version, and kubelets are at most three minor versions
//! behind it.

use std::collections::BTreeMap;

use schemas::version::Version;

use super::compare::{Order, compare};

/// How many minor versions a kubelet may be behind its API server.
const SKEW_MAX: u64 = 3;
/// Versions in a plan that an extension may answer.
const STEPS_MAX: usize = 100;

/// The versions that an upgrade still goes through. Both lists are empty when there is nothing to upgrade.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UpgradePlan {
    /// Those of the control plane, in order. The last one is what the topology wants.
    pub control_plane: Vec<String>,
    /// Those of the workers, in order. Each is one of the control plane's, or the version that it has.
    pub workers: Vec<String>,
}

/// Where a plan comes from.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// The class says nothing: at most one minor version at once.
    OneMinor,
    /// `spec.kubernetesVersions` of the class: the newest of each minor version.
    ClassVersions(&'a [String]),
    /// The answer of an extension to `GenerateUpgradePlan`. Without versions for the workers, they are computed.
    Extension(&'a UpgradePlan),
}

/// Makes the plan from the versions of a control plane and of its lowest workers to the wanted version.
///
/// # Errors
/// A sentence that says which version does not fit, or that there is no way to the wanted one.
pub fn plan(
    source: Source<'_>,
    wanted: &str,
    control_plane: &str,
    lowest_workers: Option<&str>,
) -> Result<UpgradePlan, String> {
    let ends = Ends {
        wanted: parse(wanted, "the Cluster")?,
        control_plane: parse(control_plane, "the control plane")?,
        workers: lowest_workers.map(|version| parse(version, "the workers")).transpose()?,
    };
    let is_wanted = |version: &Version| version.to_string() == ends.wanted.to_string();
    if is_wanted(&ends.control_plane) && ends.workers.as_ref().is_none_or(is_wanted) {
        return Ok(UpgradePlan::default());
    }
    let mut plan = match source {
        Source::OneMinor => one_minor(&ends, wanted)?,
        Source::ClassVersions(versions) => of_class(&ends, versions)?,
        Source::Extension(answer) => answer.clone(),
    };
    if plan.control_plane.len() > STEPS_MAX || plan.workers.len() > STEPS_MAX {
        return Err(format!("the upgrade plan has more than {STEPS_MAX} versions"));
    }
    check_control_plane(&ends, wanted, &plan.control_plane)?;
    finish_workers(&ends, (wanted, control_plane), &mut plan)?;
    Ok(plan)
}

/// Returns the lowest of the versions. Of two that differ only in words of their build metadata, it is the one that the control plane does not have, because workers are
/// never ahead of it. Empty versions do not count.
///
/// # Errors
/// Says which version cannot be parsed.
pub fn lowest(versions: impl Iterator<Item = String>, control_plane: &str) -> Result<Option<String>, String> {
    let control_plane = parse(control_plane, "the control plane")?.to_string();
    let mut lowest: Option<Version> = None;
    for text in versions.filter(|text| !text.is_empty()) {
        let version = parse(&text, "the workers")?;
        let is_lower = lowest.as_ref().is_none_or(|lowest| match compare(&version, lowest) {
            Order::Lower => true,
            Order::Different => version.to_string() != control_plane,
            Order::Same | Order::Higher => false,
        });
        if is_lower {
            lowest = Some(version);
        }
    }
    Ok(lowest.map(|version| version.to_string()))
}

/// Where an upgrade begins and ends.
struct Ends {
    wanted: Version,
    control_plane: Version,
    workers: Option<Version>,
}

fn parse(text: &str, whose: &str) -> Result<Version, String> {
    Version::parse(text).ok_or_else(|| format!("the version {text:?} of {whose} is not a semantic version"))
}

fn one_minor(ends: &Ends, wanted: &str) -> Result<UpgradePlan, String> {
    let mut plan = UpgradePlan::default();
    if ends.control_plane.to_string() == ends.wanted.to_string() {
        return Ok(plan);
    }
    if ends.wanted.minor > ends.control_plane.minor.saturating_add(1) {
        return Err(format!(
            "there is no way from {} to {wanted}: without spec.kubernetesVersions of the ClusterClass, an upgrade can go to the next minor version only",
            ends.control_plane
        ));
    }
    plan.control_plane.push(wanted.to_owned());
    Ok(plan)
}

/// The newest version of each minor version between the control plane's and the wanted one. Of the control plane's own minor version, there is one only if the upgrade
/// stays in it.
fn of_class(ends: &Ends, versions: &[String]) -> Result<UpgradePlan, String> {
    let mut plan = UpgradePlan::default();
    let mut minor = ends.control_plane.minor;
    let stays = minor == ends.wanted.minor;
    for text in versions {
        let version = parse(text, "the ClusterClass")?;
        if version <= ends.control_plane {
            continue;
        }
        if compare(&version, &ends.wanted) == Order::Higher {
            break;
        }
        if version.minor == minor {
            if let Some(last) = plan.control_plane.last_mut() {
                text.clone_into(last);
            } else if stays {
                plan.control_plane.push(text.clone());
            }
        } else {
            plan.control_plane.push(text.clone());
        }
        minor = version.minor;
        if version.to_string() == ends.wanted.to_string() {
            break;
        }
    }
    Ok(plan)
}

/// Each version is higher than the one before it by at most one minor version, and the last one is the wanted one.
fn check_control_plane(ends: &Ends, wanted: &str, plan: &[String]) -> Result<(), String> {
    if compare(&ends.control_plane, &ends.wanted) == Order::Same {
        return match plan.is_empty() {
            true => Ok(()),
            false => {
                Err("the upgrade plan of the control plane must be empty: it has the wanted version".into())
            }
        };
    }
    let mut last = ends.control_plane.clone();
    for (index, text) in plan.iter().enumerate() {
        let wrong =
            |what: String| format!("the upgrade plan of the control plane is wrong at item {index}: {what}");
        let version =
            Version::parse(text).ok_or_else(|| wrong(format!("{text:?} is not a semantic version")))?;
        if !is_after(&version, &last) {
            return Err(wrong(format!("{text} must be higher than {last}")));
        }
        if version.minor != last.minor && Some(version.minor) != last.minor.checked_add(1) {
            return Err(wrong(format!(
                "after {last} there must be a version of the same or the next minor version, not {text}"
            )));
        }
        last = version;
    }
    if compare(&last, &ends.wanted) != Order::Same {
        return Err(format!("the upgrade plan of the control plane must end with {wanted}, not {last}"));
    }
    Ok(())
}

/// Works out the workers' plan if there is none, and checks it.
fn finish_workers(
    ends: &Ends,
    (wanted, control_plane): (&str, &str),
    plan: &mut UpgradePlan,
) -> Result<(), String> {
    let behind = ends.workers.as_ref().filter(|lowest| compare(lowest, &ends.wanted) != Order::Same);
    let Some(lowest) = behind else {
        return match plan.workers.is_empty() {
            true => Ok(()),
            false => Err("the upgrade plan of the workers must be empty: there are none, or they have the wanted version".into()),
        };
    };
    let known = |version: &String| version == control_plane || plan.control_plane.contains(version);
    if !plan.control_plane.is_empty()
        && let Some(other) = plan.workers.iter().find(|version| !known(version))
    {
        return Err(format!(
            "the upgrade plan of the workers has {other}, which the control plane does not go through"
        ));
    }
    if plan.workers.is_empty() {
        plan.workers = fewest_hops(ends, lowest, (wanted, control_plane), &plan.control_plane)?;
    }
    check_workers(ends, lowest, (wanted, control_plane), plan)
}

/// The fewest versions with which workers are never too far behind: every third minor version, and the wanted one.
fn fewest_hops(
    ends: &Ends,
    lowest: &Version,
    (wanted, control_plane): (&str, &str),
    control_plane_plan: &[String],
) -> Result<Vec<String>, String> {
    let mut by_minor = BTreeMap::from([(ends.control_plane.minor, control_plane.to_owned())]);
    for text in control_plane_plan {
        by_minor.insert(parse(text, "the upgrade plan")?.minor, text.clone());
    }
    let mut hops = Vec::new();
    let mut minor = lowest.minor.saturating_add(SKEW_MAX);
    while minor < ends.wanted.minor {
        let hop = by_minor.get(&minor).ok_or_else(|| {
            format!("the upgrade plan has no version 1.{minor}, at which the workers must stop on their way from {lowest} to {wanted}")
        })?;
        hops.push(hop.clone());
        minor = minor.saturating_add(SKEW_MAX);
    }
    if hops.last().is_none_or(|last| last != wanted) {
        hops.push(wanted.to_owned());
    }
    Ok(hops)
}

fn check_workers(
    ends: &Ends,
    lowest: &Version,
    (wanted, control_plane): (&str, &str),
    plan: &UpgradePlan,
) -> Result<(), String> {
    // The place of a version on the control plane's way decides where words in build metadata do not.
    let place = |version: &str| match version == control_plane {
        true => Some(0),
        false => plan.control_plane.iter().position(|planned| planned == version).map(|place| place + 1),
    };
    let mut last = lowest.clone();
    for (index, text) in plan.workers.iter().enumerate() {
        let wrong =
            |what: String| format!("the upgrade plan of the workers is wrong at item {index}: {what}");
        let version =
            Version::parse(text).ok_or_else(|| wrong(format!("{text:?} is not a semantic version")))?;
        if !is_after(&version, &last) {
            return Err(wrong(format!("{text} must be higher than {last}")));
        }
        if compare(&version, &last) == Order::Different {
            let (Some(here), Some(before)) = (place(text), place(&last.to_string())) else {
                return Err(wrong(format!("nothing says whether {text} is newer than {last}")));
            };
            if here < before {
                return Err(wrong(format!("the control plane goes through {text} before {last}")));
            }
        }
        if version.minor.saturating_sub(last.minor) > SKEW_MAX {
            return Err(wrong(format!(
                "{text} is more than {SKEW_MAX} minor versions after {last}; kubelets must not be that far behind the control plane, so there must be a version between them"
            )));
        }
        last = version;
    }
    if compare(&last, &ends.wanted) != Order::Same {
        return Err(format!("the upgrade plan of the workers must end with {wanted}, not {last}"));
    }
    Ok(())
}

/// Returns whether a version can come after another. One whose build metadata is another word can.
fn is_after(version: &Version, last: &Version) -> bool {
    matches!(compare(version, last), Order::Higher | Order::Different)
}
