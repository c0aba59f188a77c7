//! Decides whether an agent receives the configuration drive of its machine, and which status records that. Pure functions.

use chrono::{DateTime, Utc};
use machinery::clock::rfc3339;
use schemas::netboot::AgentStatus;
use serde_json::{Value, json};

use crate::handover::{Handover, given, handover};

/// A configuration drive that an agent asks for.
pub struct Drive<'a> {
    /// The identifier of the instruction that asks for the drive.
    pub instruction: &'a str,
    /// The start time of the provisioning that the drive belongs to.
    pub begun: &'a str,
    /// Whether the drive holds user data.
    pub has_user_data: bool,
    /// The checksum of the one-time token for reports on the drive.
    pub token: String,
}

impl Drive<'_> {
    /// Returns the status patch that must be stored before the drive is given to the machine whose status is `known`.
    ///
    /// # Errors
    /// The reason why the drive is refused.
    pub fn hand_over(&self, known: &AgentStatus, now: DateTime<Utc>) -> Result<Value, &'static str> {
        let before = known.config_drive.as_ref();
        let had_it = before.is_some_and(|drive| drive.purpose.split(' ').next() == Some(self.instruction));
        let user_data_went = known.user_data.as_ref().is_some_and(|given| given.purpose == self.begun);
        if self.has_user_data && user_data_went && !had_it {
            return Err("whose user data was given over HTTP before");
        }
        // If the machine has restarted, the same instruction counts as a new purpose.
        let purpose = format!("{} {}", self.instruction, known.boot_id.as_deref().unwrap_or_default());
        match handover(before, &purpose, now) {
            Handover::First => {
                let mut patch = given("configDrive", &purpose, now);
                patch["status"]["configDrive"]["tokenSHA256"] = self.token.as_str().into();
                if self.has_user_data {
                    patch["status"]["userData"] = json!({ "purpose": self.begun, "time": rfc3339(now) });
                }
                Ok(patch)
            }
            Handover::Same => Ok(json!({ "status": { "configDrive": { "tokenSHA256": self.token } } })),
            Handover::Again => Err("which it had before"),
        }
    }
}
