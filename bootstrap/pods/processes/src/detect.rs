//! Finds out how far containers can be separated from this machine.

use std::path::Path;

use crate::instruction::{Device, Instruction, Isolation};
use crate::process::{Ended, Process};

impl Isolation {
    /// Finds the strongest isolation that this machine allows. `folder` is for a container that is only tried.
    pub async fn detect(folder: &Path) -> Self {
        let is_root = rustix::process::geteuid().is_root();
        if is_root { Self::first_of(&[Self::Root], folder).await } else { Self::detect_user(folder).await }
    }

    /// Finds the strongest isolation that this machine allows without root's rights.
    pub async fn detect_user(folder: &Path) -> Self {
        Self::first_of(&[Self::UserNamespace, Self::UserMounts], folder).await
    }

    async fn first_of(all: &[Self], folder: &Path) -> Self {
        let root = folder.join("trial");
        for isolation in all {
            if isolation.is_possible(&root).await {
                return *isolation;
            }
        }
        Self::None
    }

    async fn is_possible(self, root: &Path) -> bool {
        if std::fs::create_dir_all(root).is_err() {
            return false;
        }
        let instruction = Instruction {
            isolation: self,
            namespaces: None,
            is_first: true,
            inside: None,
            root: root.to_owned(),
            mounts: Vec::new(),
            devices: Device::usual(),
            command: Vec::new(),
            environment: Vec::new(),
            working_directory: "/".to_owned(),
            user: NOBODY,
            group: NOBODY,
            groups: Vec::new(),
        };
        match Process::spawn(instruction, None).await {
            Ok(mut process) => process.wait().await == Ended::Exited(0),
            Err(_) => false,
        }
    }
}

/// The user of a container that is only tried.
const NOBODY: u32 = 65534;
