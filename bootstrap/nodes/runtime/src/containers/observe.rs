//! What containers do: from their records, their supervisors, and the kernel. Nothing is remembered in this process.

use std::collections::BTreeMap;
use std::fs::File;
use std::net::Ipv4Addr;

use anyhow::{Context, Error, Result};
use chrono::DateTime;

use super::data::Data;
use super::{Folder, Record, Supervised};
use crate::groups::Groups;
use crate::process::ProcessId;
use crate::supervisor::before;
use system_containers::{Container, State};

/// Returns a container; `None` if it does not exist. A container whose record cannot be read has only its name, and the reason.
pub(super) fn find(data: &Data, name: &str) -> Option<Container> {
    let folder = data.folder(name);
    match folder.read() {
        Ok(record) => record.map(|record| observe(&folder, record)),
        Err(error) => Some(unreadable(name, &error)),
    }
}

/// Returns the containers that have all these labels. A container whose record cannot be read has no labels.
pub(super) fn all(data: &Data, labels: &BTreeMap<String, String>) -> Result<Vec<Container>> {
    let has =
        |container: &Container| labels.iter().all(|(key, value)| container.labels.get(key) == Some(value));
    Ok(data.names()?.iter().filter_map(|name| find(data, name)).filter(has).collect())
}

fn observe(folder: &Folder, record: Record) -> Container {
    let (supervised, unknown) = match folder.read_supervised() {
        Ok(supervised) => (supervised, None),
        Err(error) => (None, Some(State::Stopped { code: None, error: Some(format!("{error:#}")) })),
    };
    // An init whose supervisor has ended is about to end.
    let is_running = |state: &Supervised| {
        let is_alive = state.init.as_ref().is_some_and(ProcessId::is_alive);
        state.started.is_some() && is_alive && state.supervisor.is_alive()
    };
    let pid = supervised
        .as_ref()
        .filter(|state| is_running(state))
        .and_then(|state| Some(state.init.as_ref()?.pid));
    let state = unknown
        .filter(|_| !record.is_removing)
        .unwrap_or_else(|| state(&record, supervised.as_ref(), pid.is_some()));
    Container {
        name: record.spec.name,
        labels: record.spec.labels,
        image: record.spec.image,
        address: record.address,
        state,
        pid,
        created: record.created,
        started: supervised.and_then(|state| state.started),
    }
}

fn state(record: &Record, supervised: Option<&Supervised>, is_running: bool) -> State {
    if record.is_removing {
        return State::Removing;
    }
    if record.prepared.is_none() {
        return State::Creating;
    }
    let Some(supervised) = supervised else { return State::Created };
    let is_frozen =
        || Groups::find(&record.identity).is_ok_and(|groups| groups.group(&record.spec.name).is_frozen());
    match supervised {
        _ if is_running && is_frozen() => State::Paused,
        _ if is_running => State::Running,
        // The supervisor has not written yet how the init ended.
        state if state.supervisor.is_alive() && state.started.is_some() && state.code.is_none() => {
            State::Running
        }
        state if state.supervisor.is_alive() && state.started.is_none() && state.error.is_none() => {
            State::Starting
        }
        state => State::Stopped { code: state.code, error: state.error.clone() },
    }
}

/// Returns the end of the console.
pub(super) fn console(data: &Data, name: &str, most: usize) -> Result<Vec<u8>> {
    data.record(name)?;
    let path = data.folder(name).console();
    let mut newest = tail(&path, most)?;
    if newest.len() < most {
        let mut whole = tail(&before(&path), most - newest.len())?;
        whole.append(&mut newest);
        return Ok(whole);
    }
    Ok(newest)
}

/// What is known of a container without its record.
fn unreadable(name: &str, error: &Error) -> Container {
    Container {
        name: name.to_owned(),
        labels: BTreeMap::new(),
        // Only a balancer has no image.
        image: "unknown".to_owned(),
        address: Ipv4Addr::UNSPECIFIED,
        state: State::Stopped { code: None, error: Some(format!("{error:#}")) },
        pid: None,
        created: DateTime::UNIX_EPOCH,
        started: None,
    }
}

/// Returns the last bytes of a file, at most `most`; an empty vector if it cannot be opened.
fn tail(path: &std::path::Path, most: usize) -> Result<Vec<u8>> {
    let Ok(file) = File::open(path) else { return Ok(Vec::new()) };
    files::tail(file, most).with_context(|| format!("cannot read {}", path.display()))
}
