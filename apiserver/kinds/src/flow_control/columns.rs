//! Columns of FlowSchemas and PriorityLevelConfigurations.

use machinery::meta::text;
use serde_json::Value;

use crate::columns::{AGE, Column, NAME, column, or};

pub(crate) fn flow_schema() -> Vec<Column> {
    vec![
        NAME,
        column("PriorityLevel", "The level of its requests.", |one, _| {
            text(one, &["spec", "priorityLevelConfiguration", "name"]).into()
        }),
        column("MatchingPrecedence", "Which of several comes first.", |one, _| {
            one["spec"]["matchingPrecedence"].clone()
        }),
        column("DistinguisherMethod", "What makes a flow.", |one, _| {
            or(text(one, &["spec", "distinguisherMethod", "type"]), "<none>")
        }),
        AGE,
        column("MissingPL", "Whether the level is not there.", |one, _| {
            let mut conditions = one["status"]["conditions"].as_array().into_iter().flatten();
            let dangling = conditions.find(|condition| condition["type"] == "Dangling");
            dangling.map_or_else(|| "?".into(), |condition| condition["status"].clone())
        }),
    ]
}

pub(crate) fn priority_level() -> Vec<Column> {
    vec![
        NAME,
        column("Type", "Whether it is limited.", |one, _| text(one, &["spec", "type"]).into()),
        column("NominalConcurrencyShares", "Its share of the seats.", |one, _| {
            let shares = ["limited", "exempt"].map(|part| &one["spec"][part]["nominalConcurrencyShares"]);
            shares.into_iter().find(|shares| !shares.is_null()).cloned().unwrap_or_else(|| "<none>".into())
        }),
        column("Queues", "How many queues it has.", |one, _| queuing(one, "queues")),
        column("HandSize", "Queues that a flow chooses from.", |one, _| queuing(one, "handSize")),
        column("QueueLengthLimit", "How long a queue gets.", |one, _| queuing(one, "queueLengthLimit")),
        AGE,
    ]
}

fn queuing(level: &Value, field: &str) -> Value {
    let found = &level["spec"]["limited"]["limitResponse"]["queuing"][field];
    if found.is_null() { "<none>".into() } else { found.clone() }
}
