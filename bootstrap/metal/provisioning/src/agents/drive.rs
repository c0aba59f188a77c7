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

#[cfg(test)]
mod tests {
    use machinery::clock::parse_rfc3339;

    use super::*;

    #[test]
    fn user_data_takes_one_way() {
        let begun = "2026-11-22T08:50:00Z";
        let now = parse_rfc3339("2026-11-22T09:00:00Z").unwrap();
        let status = |drive: Option<&str>, user_data: Option<&str>| -> AgentStatus {
            let given = |purpose: &str| json!({ "purpose": purpose, "time": "2026-11-22T08:55:00Z" });
            let status =
                json!({ "bootID": "b", "configDrive": drive.map(given), "userData": user_data.map(given) });
            serde_json::from_value(status).unwrap()
        };
        let other = "2026-11-21T08:50:00Z";
        for (known, has_user_data, expected) in [
            (status(None, None), true, true),
            (status(Some("deploy/0 a"), Some(other)), true, true),
            // The power was cut while the image was being written.
            (status(Some("deploy/1 a"), Some(begun)), true, true),
            (status(Some("deploy/1 b"), Some(begun)), true, false),
            (status(None, Some(begun)), true, false),
            (status(Some("deploy/0 a"), Some(begun)), true, false),
            (status(None, Some(begun)), false, true),
        ] {
            let drive = Drive { instruction: "deploy/1", begun, has_user_data, token: "aa".into() };
            let written = drive.hand_over(&known, now);
            assert_eq!(written.is_ok(), expected, "{known:?} {written:?}");
            let noted = written.ok().map(|patch| patch["status"]["userData"]["purpose"] == begun);
            assert_eq!(noted, expected.then_some(has_user_data), "{known:?}");
        }
        let drive = Drive { instruction: "deploy/1", begun, has_user_data: false, token: "aa".into() };
        let written = drive.hand_over(&status(None, None), now).unwrap();
        assert_eq!(written["status"]["configDrive"]["tokenSHA256"], "aa");
    }
}
