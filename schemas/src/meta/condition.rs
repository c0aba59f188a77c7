// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `meta`: condition.

use serde::{Deserialize, Serialize};

/// One aspect of how an object is.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Condition {
    /// When status last changed.
    #[serde(rename = "lastTransitionTime")]
    pub last_transition_time: String,
    /// What is going on, in a sentence or a list. Empty when there is nothing to add.
    pub message: String,
    /// The metadata.generation that the condition describes.
    #[serde(rename = "observedGeneration", skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// One word for why the status is what it is, for programs.
    pub reason: String,
    /// True, False or Unknown.
    pub status: String,
    /// Name of the aspect, such as Available. Whether True is good depends on it: it is for Ready, not for
    /// Deleting.
    #[serde(rename = "type")]
    pub type_: String,
}

/// Fields that only older clients read.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DeprecatedStatus {
    /// What status said in the API version v1beta1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub v1beta1: Option<V1Beta1DeprecatedStatus>,
}

/// Fields that only older clients read.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct FailureDeprecatedStatus {
    /// What status said in the API version v1beta1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub v1beta1: Option<FailureV1Beta1DeprecatedStatus>,
}

/// What status said in the API version v1beta1.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct FailureV1Beta1DeprecatedStatus {
    /// Conditions as v1beta1 had them. Use status.conditions instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<V1Beta1Condition>,
    /// A sentence about a failure that needs somebody's help. Older clients only: use conditions instead.
    #[serde(rename = "failureMessage", skip_serializing_if = "Option::is_none")]
    pub failure_message: Option<String>,
    /// One word for a failure that needs somebody's help. Older clients only: use conditions instead.
    #[serde(rename = "failureReason", skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
}

/// One aspect of how an object is, as v1beta1 had it.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct V1Beta1Condition {
    /// When status last changed.
    #[serde(rename = "lastTransitionTime")]
    pub last_transition_time: String,
    /// What is going on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// One word for why the status is what it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Error, Warning or Info while status is False, else empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// True, False or Unknown.
    pub status: String,
    /// Name of the aspect.
    #[serde(rename = "type")]
    pub type_: String,
}

/// What status said in the API version v1beta1.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct V1Beta1DeprecatedStatus {
    /// Conditions as v1beta1 had them. Use status.conditions instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<V1Beta1Condition>,
}
