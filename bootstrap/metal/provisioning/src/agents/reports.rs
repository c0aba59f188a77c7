//! Decides which parts of an agent's reports are written to its `Agent` object, and when. Pure.

use std::collections::VecDeque;

use agent_protocol::{Progress, Report, State};
use chrono::{DateTime, Duration, Utc};
use machinery::clock::{parse_rfc3339, rfc3339};
use schemas::metal3::HardwareDetails;
use schemas::netboot::AgentStatus;
use serde_json::{Value, json};
use terminal::is_unsafe;

use super::refusal::Refusal;
use crate::limits;

/// Seconds between two reports of an agent that has nothing new to report.
pub const REPORT_SECONDS: u64 = 5;
/// How often `status.lastSeenTime` is written when nothing else has changed.
const HEARTBEAT: Duration = Duration::seconds(10);
/// How often progress and log lines are written.
const PROGRESS: Duration = Duration::seconds(1);
/// The log lines that are kept.
const LOG_LINES: usize = 100;
/// The characters of a log line that are kept.
pub const LOG_LINE: usize = 1000;

/// The latest report of a machine, and how much of it has been written to the API.
#[derive(Clone, Debug, Default)]
pub struct Reported {
    log: VecDeque<String>,
    has_new_lines: bool,
    progress: Option<Progress>,
    begun: Option<DateTime<Utc>>,
    ended: Option<DateTime<Utc>>,
    written: Option<DateTime<Utc>>,
    heard: Option<DateTime<Utc>>,
    is_new: bool,
    /// The start of the period in which urgent writes are counted, and their number since then.
    urgent: (Option<DateTime<Utc>>, u32),
    /// Whether the last report was urgent, and had no urgent write left.
    is_held_back: bool,
    hardware: Option<HardwareDetails>,
}

impl Reported {
    /// Starts from the recorded status, so that an instruction keeps its times and the log its lines when the server restarts.
    pub fn from_status(status: &AgentStatus) -> Self {
        let time = |text: &Option<String>| text.as_deref().and_then(parse_rfc3339);
        let instruction = status.instruction.as_ref();
        let progress = instruction.map(|instruction| Progress {
            id: instruction.id.clone(),
            state: State::from_name(&instruction.state).unwrap_or(State::Running),
            message: instruction.message.clone().unwrap_or_default(),
            done: instruction.bytes_done.and_then(|bytes| bytes.try_into().ok()).unwrap_or(0),
            total: instruction.bytes_total.and_then(|bytes| bytes.try_into().ok()).unwrap_or(0),
        });
        Self {
            log: status.log.iter().cloned().collect(),
            progress,
            begun: instruction.and_then(|instruction| time(&instruction.start_time)),
            ended: instruction.and_then(|instruction| time(&instruction.end_time)),
            ..Self::default()
        }
    }

    /// Takes in a report, and returns the status as a merge patch if it is due to be written. Data that is not written now is written
    /// with a later report: agents report at least every [`REPORT_SECONDS`].
    ///
    /// # Errors
    /// [`Refusal::Malformed`] for an inventory that Metal3 could not read, [`Refusal::Limit`] for an instruction identifier that is
    /// too long.
    pub fn take(
        &mut self,
        report: Report,
        is_host: bool,
        now: DateTime<Utc>,
    ) -> Result<Option<Value>, Refusal> {
        self.heard = Some(now);
        let hardware =
            report.inventory.map(|found| serde_json::from_value::<HardwareDetails>(plain(found))).transpose();
        let hardware = hardware.map_err(|error| Refusal::Malformed(format!("the inventory: {error}")))?;
        if report.instruction.as_ref().is_some_and(|progress| progress.id.len() > limits::WORD) {
            let message = format!("an instruction's id has at most {} bytes", limits::WORD);
            return Err(Refusal::Limit("netboot_word", message));
        }
        for line in report.log.into_iter().flat_map(|text| lines(&text)) {
            self.log.push_back(line);
            self.has_new_lines = true;
        }
        self.shorten(if is_host { limits::LOG } else { limits::UNKNOWN_LOG });
        let mut is_urgent = hardware.is_some();
        if hardware.is_some() {
            (self.hardware, self.is_new) = (hardware, true);
        }
        if let Some(progress) = report.instruction {
            is_urgent |= self.take_progress(progress, now);
        }
        self.is_held_back = is_urgent && !self.take_turn(now);
        is_urgent &= !self.is_held_back;
        let since = self.written.map_or(HEARTBEAT, |written| now - written);
        let is_due = since >= HEARTBEAT || (since >= PROGRESS && (self.is_new || self.has_new_lines));
        if !is_urgent && !is_due {
            return Ok(None);
        }
        let mut status = json!({ "lastSeenTime": rfc3339(now) });
        if let Some(hardware) = self.hardware.take() {
            status["hardware"] = serde_json::to_value(hardware).unwrap_or_default();
        }
        if self.has_new_lines {
            status["log"] = self.log.iter().cloned().collect();
        }
        if let Some(progress) = &self.progress {
            status["instruction"] = self.instruction(progress);
        }
        self.written = Some(now);
        (self.is_new, self.has_new_lines) = (false, false);
        Ok(Some(json!({ "status": status })))
    }

    /// Drops the oldest log lines beyond [`LOG_LINES`] and beyond `room` bytes.
    fn shorten(&mut self, room: usize) {
        let mut bytes = 0;
        let fits = self.log.iter().rev().take(LOG_LINES).take_while(|line| {
            bytes += line.len();
            bytes <= room
        });
        let kept = fits.count();
        self.log.drain(..self.log.len() - kept);
    }

    /// Returns whether another urgent write is allowed in this period.
    fn take_turn(&mut self, now: DateTime<Utc>) -> bool {
        let (since, count) = &mut self.urgent;
        if since.is_none_or(|since| now - since >= HEARTBEAT) {
            (*since, *count) = (Some(now), 0);
        }
        *count += 1;
        *count <= limits::URGENT_WRITES
    }

    /// Returns whether the last report was urgent and had to wait, because [`limits::URGENT_WRITES`] were written already.
    pub fn is_held_back(&self) -> bool {
        self.is_held_back
    }

    /// Returns the time of the last report.
    pub fn heard(&self) -> Option<DateTime<Utc>> {
        self.heard
    }

    /// Records that the last patch could not be written, so that the next report writes it.
    pub fn not_written(&mut self) {
        self.written = None;
        (self.is_new, self.has_new_lines) = (true, true);
    }

    /// Takes in progress, and returns whether the instruction or its state is a different one.
    fn take_progress(&mut self, progress: Progress, now: DateTime<Utc>) -> bool {
        let before = self.progress.as_ref();
        let is_other = before.is_none_or(|before| before.id != progress.id);
        let is_urgent = is_other || before.is_some_and(|before| before.state != progress.state);
        if is_other {
            self.begun = Some(now);
        }
        if is_urgent {
            self.ended = (progress.state != State::Running).then_some(now);
        }
        self.is_new |= before != Some(&progress);
        self.progress = Some(progress);
        is_urgent
    }

    fn instruction(&self, progress: &Progress) -> Value {
        let bytes = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        json!({
            "id": progress.id,
            "state": progress.state.name(),
            "message": plain_message(&progress.message),
            "bytesDone": bytes(progress.done),
            "bytesTotal": (progress.total > 0).then_some(bytes(progress.total)),
            "startTime": self.begun.map(rfc3339),
            "endTime": self.ended.map(rfc3339),
        })
    }
}

/// Returns an inventory without characters on which a terminal would act, or which nobody sees: with them a machine could look like another.
fn plain(inventory: Value) -> Value {
    match inventory {
        Value::String(text) => Value::String(text.chars().filter(|c| !is_unsafe(*c)).collect()),
        Value::Array(values) => values.into_iter().map(plain).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, plain(value))).collect(),
        other => other,
    }
}

fn plain_message(text: &str) -> String {
    text.chars().filter(|c| !is_unsafe(*c) || *c == '\n').take(limits::PROGRESS_MESSAGE).collect()
}

/// Returns the lines of a text without control characters, each shortened to [`LOG_LINE`] characters.
fn lines(text: &str) -> Vec<String> {
    let clean = |line: &str| line.chars().filter(|c| !is_unsafe(*c)).take(LOG_LINE).collect();
    text.lines().map(clean).collect()
}
