//! A daemon with what is tested.

use std::path::PathBuf;
use std::sync::Arc;

use container_images::{Credentials, Sources};
use machinery::random::Random;
use metal_boot::images::program::Entry;
use node_docker::{Docker, Engine, Options};
use system_containers::{Runtime, Spec};
use tempfile::TempDir;

use crate::nodes_docker::daemon::Daemon;

pub struct Fixture {
    pub folder: TempDir,
    pub daemon: Daemon,
    pub docker: Arc<Docker>,
}

impl Fixture {
    pub async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let daemon = Daemon::start(folder.path());
        let docker = Arc::new(Docker::open(options(&folder, &daemon)).await.unwrap());
        Self { folder, daemon, docker }
    }

    /// Returns a node that runs.
    pub async fn node(&self, name: &str) {
        self.docker.create(&Spec::new(name, "kindest/node:v1.36.2")).await.unwrap();
        self.docker.start(name).await.unwrap();
    }
}

pub fn options(folder: &TempDir, daemon: &Daemon) -> Options {
    Options {
        data: folder.path().join("data"),
        engine: Engine::Docker,
        socket: Some(daemon.socket.clone()),
        network: node_docker::NETWORK.to_owned(),
        range: None,
        sources: Sources::default(),
        credentials: Credentials::default(),
        program: |path| Ok(vec![Entry::File { path: path.to_owned(), source: PathBuf::from("/bin/sh") }]),
        random: Random::seeded(1),
    }
}
