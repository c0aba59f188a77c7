//! The summary of a Machine's conditions.

use chrono::{DateTime, Utc};
use engine::conditions::{self, Priority, Reasons, Summary, TRUE};
use engine::object::is_deleting;
use engine::time;
use machinery::clock::parse_rfc3339;
use schemas::HasConditions;
use schemas::cluster::Machine;
use schemas::meta::Condition;

use crate::machine::drain;
use crate::machine::observed::Observed;

/// The message of a deletion that takes longer than this many minutes says so.
const SLOW_DELETION_MINUTES: i64 = 15;
/// The message of such a deletion names the likely causes if the drain takes longer than this many minutes.
const SLOW_DRAIN_MINUTES: i64 = 5;
const COMPONENTS: [&str; 4] =
    ["APIServerPodHealthy", "ControllerManagerPodHealthy", "SchedulerPodHealthy", "EtcdPodHealthy"];

/// Returns `Ready`: the summary of the Machine's other conditions and of its readiness gates.
pub fn condition(machine: &Machine, observed: &Observed) -> Condition {
    let gates = &machine.spec.readiness_gates;
    let mut types = vec![
        "Deleting",
        "Updating",
        "BootstrapConfigReady",
        "InfrastructureReady",
        "NodeHealthy",
        "HealthCheckSucceeded",
    ];
    types.extend(gates.iter().map(|gate| gate.condition_type.as_str()));
    let mut negative = vec!["Deleting", "Updating"];
    let negative_gates = gates.iter().filter(|gate| gate.polarity.as_deref() == Some("Negative"));
    negative.extend(negative_gates.map(|gate| gate.condition_type.as_str()));
    let reasons = Reasons { issue: "NotReady", unknown: "ReadyUnknown", info: "Ready" };
    let summary = Summary { types, negative, ignore_if_missing: vec!["HealthCheckSucceeded"], reasons };
    let mut sources = machine.conditions().to_vec();
    for source in &mut sources {
        if source.type_ == "Deleting" && source.status == TRUE {
            source.message = deletion_message(machine, source, observed);
        }
    }
    let is_deleting = is_deleting(machine);
    let mut condition = conditions::summarize("Ready", &sources, &summary, |condition| {
        let expected = ["ObjectDeleted", "ObjectDoesNotExist", "NodeDeleted", "NodeDoesNotExist"];
        let own = ["BootstrapConfigReady", "InfrastructureReady", "NodeHealthy"];
        let is_expected =
            own.contains(&condition.type_.as_str()) && expected.contains(&condition.reason.as_str());
        (is_deleting && is_expected).then_some(Priority::Info)
    });
    condition.message = fold_components(&condition.message);
    condition
}

/// Returns the message about the deletion for `Ready`: without the details of the `Deleting` condition, so
/// that few different messages are aggregated.
fn deletion_message(machine: &Machine, deleting: &Condition, observed: &Observed) -> String {
    let stage = deleting.reason.as_str();
    let is_older = |since: Option<DateTime<Utc>>, minutes: i64| {
        since.is_some_and(|since| observed.now - since > chrono::Duration::minutes(minutes))
    };
    if !is_older(machine.metadata.deletion_timestamp.as_ref().map(time::utc), SLOW_DELETION_MINUTES) {
        return format!("Machine deletion in progress, stage: {stage}");
    }
    let message =
        format!("Machine deletion in progress since more than {SLOW_DELETION_MINUTES}m, stage: {stage}");
    let deletion = machine.status.as_ref().and_then(|status| status.deletion.as_ref());
    let drain = deletion.and_then(|deletion| parse_rfc3339(deletion.node_drain_start_time.as_deref()?));
    let causes = drain::delay_causes(&deleting.message);
    if stage != "DrainingNode" || !is_older(drain, SLOW_DRAIN_MINUTES) || causes.is_empty() {
        return message;
    }
    format!("{message}, delay likely due to {}", causes.join(", "))
}

/// Folds the lines of all control plane components into one line if they have the same text.
fn fold_components(message: &str) -> String {
    let mut blocks: Vec<String> = Vec::new();
    for line in message.split('\n') {
        match blocks.last_mut() {
            Some(block) if !line.starts_with("* ") => {
                block.push('\n');
                block.push_str(line);
            }
            _ => blocks.push(line.to_owned()),
        }
    }
    let text = |block: &str| {
        COMPONENTS.iter().find_map(|type_| block.strip_prefix(&format!("* {type_}:")).map(str::to_owned))
    };
    let texts: Vec<String> = blocks.iter().filter_map(|block| text(block)).collect();
    let Some(first) =
        texts.first().filter(|first| texts.len() > 1 && texts.iter().all(|text| text == *first))
    else {
        return message.to_owned();
    };
    let mut folded = Vec::new();
    for block in &blocks {
        if text(block).is_none() {
            folded.push(block.clone());
        } else if !folded.iter().any(|line: &String| line.starts_with("* Control plane components:")) {
            folded.push(format!("* Control plane components:{first}"));
        }
    }
    folded.join("\n")
}
