//! The containers of a data directory, as the daemon says it.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use anyhow::{Context, Result, ensure};
use futures::{StreamExt, TryStreamExt};
use serde_json::json;
use system_containers::{Container, State};
use tokio::io::AsyncReadExt;

use crate::api::{ContainerState, Inspected};
use crate::body::{LABEL_ADDRESS, LABEL_BALANCER, LABEL_OWNER, LABELS};
use crate::client::{Client, Sent, unless_missing};
use crate::{frames, limits, network};

pub(super) struct Containers {
    client: Client,
    owner: String,
}

impl Containers {
    /// Those that have this owner.
    pub(super) fn new(client: Client, owner: String) -> Self {
        Self { client, owner }
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn owner(&self) -> &str {
        &self.owner
    }

    /// Returns what the daemon says of a container of this data directory.
    ///
    /// # Errors
    /// The container does not exist, or belongs to another owner.
    pub(super) async fn own(&self, name: &str) -> Result<Inspected> {
        let found = self.read(name).await?.context("there is no such container: create it first")?;
        self.check_owner(&found)?;
        Ok(found)
    }

    /// Checks that a container is one of this data directory.
    pub(super) fn check_owner(&self, found: &Inspected) -> Result<()> {
        let engine = self.client.engine().name();
        ensure!(
            found.config.labels.get(LABEL_OWNER) == Some(&self.owner),
            "name: {engine} has a container of this name that this data directory has not created: use the data directory that has, or another name, or remove it with `{} rm`",
            engine.to_lowercase()
        );
        Ok(())
    }

    /// Returns what the daemon says of a container; `None` if there is none.
    pub(super) async fn read(&self, name: &str) -> Result<Option<Inspected>> {
        unless_missing(self.client.get(&format!("/containers/{name}/json")).await)
    }

    /// Returns a container; `None` if there is none.
    pub(super) async fn find(&self, name: &str) -> Result<Option<Container>> {
        let Some(found) = self.read(name).await? else { return Ok(None) };
        let container = self.container(&found);
        if self.check_owner(&found).is_ok() && matches!(container.state, State::Running | State::Paused) {
            network::check(&found)?;
        }
        Ok(Some(container))
    }

    /// Returns the containers of this data directory that have all these labels, by name.
    pub(super) async fn all(&self, labels: &BTreeMap<String, String>) -> Result<Vec<Container>> {
        let own = [format!("{LABEL_OWNER}={}", self.owner), LABEL_ADDRESS.to_owned()];
        let wanted = labels.iter().map(|(key, value)| format!("{key}={value}"));
        let filter: Vec<String> = own.into_iter().chain(wanted).collect();
        let listed = self.client.containers(&json!({"label": filter})).await;
        let listed = listed.context("the containers cannot be listed")?;
        let read = futures::stream::iter(listed).map(|found| async move { self.read(&found.id).await });
        let found: Vec<Option<Inspected>> = read
            .buffer_unordered(limits::INSPECTIONS)
            .try_collect()
            .await
            .context("a container cannot be read")?;
        // Some may have been removed meanwhile.
        let mut all: Vec<Container> = found.iter().flatten().map(|found| self.container(found)).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    /// Returns a container as its users know it. One that this data directory has not created has all of its labels, and an address that
    /// is none: its user only learns that the name is taken.
    pub(super) fn container(&self, found: &Inspected) -> Container {
        let labels = &found.config.labels;
        let is_own = labels.get(LABEL_OWNER) == Some(&self.owner);
        let is_seen = |key: &str| !is_own || !LABELS.contains(&key);
        let address = labels.get(LABEL_ADDRESS).and_then(|address| address.parse().ok());
        let state = state(&found.state);
        let runs = matches!(state, State::Running | State::Paused);
        Container {
            name: found.name.trim_start_matches('/').to_owned(),
            labels: labels
                .iter()
                .filter(|(key, _)| is_seen(key))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
            image: match is_own && labels.contains_key(LABEL_BALANCER) {
                true => String::new(),
                false => found.config.image.clone(),
            },
            address: address.unwrap_or(Ipv4Addr::UNSPECIFIED),
            pid: Some(found.state.pid).filter(|pid| runs && *pid != 0),
            created: found.created,
            // A container that was never started has the first second of the calendar.
            started: found.state.started_at.filter(|started| started.timestamp() > 0),
            state,
        }
    }

    /// Returns the end of the console.
    pub(super) async fn console(&self, name: &str, most: usize) -> Result<Vec<u8>> {
        let found = self.own(name).await?;
        // As many bytes have at most as many lines.
        let path = format!("/containers/{name}/logs?stdout=1&stderr=1&tail={most}");
        let console = self.client.stream(http::Method::GET, &path, Sent::Nothing, limits::CALL).await?;
        let read = async {
            let mut end = frames::End::new(most);
            match found.config.tty {
                true => {
                    let mut console = console;
                    let mut piece = vec![0; 32 << 10];
                    loop {
                        match console.read(&mut piece).await? {
                            0 => break,
                            length => end.add(&piece[..length]),
                        }
                    }
                }
                false => frames::collect(console, &mut end).await?,
            }
            anyhow::Ok(end.bytes())
        };
        let read = tokio::time::timeout(limits::CONTAINER, read).await;
        read.context("its console does not end")?
    }
}

fn state(found: &ContainerState) -> State {
    let error = Some(found.error.clone()).filter(|error| !error.is_empty());
    match found.status.as_str() {
        _ if found.paused => State::Paused,
        "paused" => State::Paused,
        // Its last start has failed.
        "created" if error.is_some() => State::Stopped { code: None, error },
        // The second one is Podman's, as the others after "|".
        "created" | "configured" | "initialized" => State::Created,
        "running" | "stopping" => State::Running,
        "restarting" => State::Starting,
        "removing" => State::Removing,
        _ => State::Stopped { code: Some(found.exit_code), error },
    }
}
