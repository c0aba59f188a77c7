//! Finds out how far containers can be separated from this machine.

use std::path::Path;

use crate::instruction::{Device, Instruction, Isolation};
use crate::process::{Ended, Process};

impl Isolation {
    /// Finds the strongest isolation that this machine allows. `folder` is for a container that is only tried.
    pub async fn detect(folder: &Path) -> Self {
        let root = folder.join("trial");
        for isolation in Self::ALL {
            if isolation == Self::None || isolation.is_possible(&root).await {
                return isolation;
            }
        }
        Self::None
    }

    async fn is_possible(self, root: &Path) -> bool {
        let is_root = rustix::process::geteuid().is_root();
        if (self == Self::Root) != is_root || std::fs::create_dir_all(root).is_err() {
            return false;
        }
        let instruction = Instruction {
            isolation: self,
            namespaces: None,
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
        match Process::spawn(instruction).await {
            Ok(mut process) => process.wait().await == Ended::Exited(0),
            Err(_) => false,
        }
    }
}

/// The user of a container that is only tried.
const NOBODY: u32 = 65534;
