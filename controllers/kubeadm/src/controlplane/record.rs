//! The record of a remediation: an annotation of the control plane until another Machine takes the place of the unhealthy one, and then
//! of that Machine. So a Machine that fails again is known as another try.

use chrono::{DateTime, Utc};
use engine::object;
use machinery::clock::{parse_rfc3339, rfc3339};
use schemas::controlplane::LastRemediation;
use serde::{Deserialize, Serialize};

use super::observed::Observed;
use crate::names;

/// What is recorded about a remediation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Name of the unhealthy Machine.
    pub machine: String,
    /// When it began, in the form of RFC 3339.
    pub timestamp: Option<String>,
    /// The number of tries before this one.
    #[serde(rename = "retryCount", default)]
    pub retry_count: i32,
}

impl Record {
    /// Creates the record of a first try.
    pub fn new(machine: &str, now: DateTime<Utc>) -> Self {
        Self { machine: machine.to_owned(), timestamp: Some(rfc3339(now)), retry_count: 0 }
    }

    /// Reads the value of the annotation `key`.
    ///
    /// # Errors
    /// A sentence that names the annotation.
    pub fn parse(key: &str, value: &str) -> Result<Self, String> {
        serde_json::from_str(value).map_err(|error| {
            format!("Annotation {key} can't be read: {error}. Remove the annotation if this is no retry")
        })
    }

    /// Returns the value of the annotation, with its fields in upstream's order.
    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns when the remediation began, or `None` if it is not known.
    pub fn time(&self) -> Option<DateTime<Utc>> {
        self.timestamp.as_deref().and_then(parse_rfc3339)
    }

    /// Returns the record as it stands in the status of the control plane; `None` without a time.
    pub fn status(&self) -> Option<LastRemediation> {
        let time = self.timestamp.clone()?;
        Some(LastRemediation { machine: self.machine.clone(), retry_count: self.retry_count, time })
    }
}

/// Returns the record of the remediation in progress, whose new Machine does not exist yet; `None` if there is none.
///
/// # Errors
/// Says why the annotation cannot be read.
pub(super) fn in_progress(observed: &Observed) -> Result<Option<Record>, String> {
    let key = names::REMEDIATION_IN_PROGRESS;
    let Some(text) = object::annotation(observed.control_plane.as_ref(), key) else { return Ok(None) };
    let record = Record::parse(key, text)?;
    Ok(Some(record).filter(|record| !is_replaced(observed, record)))
}

/// Returns the record that a new Machine carries, as the value of its annotation.
pub fn carried(observed: &Observed) -> Option<String> {
    in_progress(observed).ok()?.map(|record| record.text())
}

/// Returns whether a Machine has taken the place of the recorded one.
fn is_replaced(observed: &Observed, record: &Record) -> bool {
    observed.machines.iter().any(|member| {
        let machine = member.machine.as_ref();
        let carried = object::annotation(machine, names::REMEDIATION_FOR)
            .and_then(|text| Record::parse(names::REMEDIATION_FOR, text).ok());
        let created = machine.metadata.creation_timestamp.as_ref().map(engine::time::utc);
        carried.as_ref() == Some(record) || record.time().is_some_and(|time| created > Some(time))
    })
}
