//! What the shim is told on its standard input. It may contain Secrets, so it is no argument and no environment variable.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How far a container is separated from this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Namespaces for mounts and processes, made by root.
    Root,
    /// A user namespace, in which a user without privileges may make mounts and a namespace of processes.
    UserNamespace,
    /// A user namespace for mounts alone, where the machine does not let a user mount `/proc`.
    UserMounts,
    /// None: the program runs with the paths of this machine.
    None,
}

impl Isolation {
    /// Returns whether it needs a user namespace.
    pub fn is_user(self) -> bool {
        matches!(self, Self::UserNamespace | Self::UserMounts)
    }

    /// Returns whether the container has its own root folder, so that its paths are those of its image.
    pub fn has_own_root(self) -> bool {
        self != Self::None
    }
}

/// Everything that starts a container's program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Instruction {
    /// The separation from this machine.
    pub isolation: Isolation,
    /// The network of the Pod, if it is not that of this machine.
    pub namespaces: Option<Namespaces>,
    /// Whether its program is the first process of the container, with which all others end.
    pub is_first: bool,
    /// The namespaces of the container that runs, if this is a further program in it and the container has some.
    pub inside: Option<Inside>,
    /// The root folder of the container, which belongs to it alone.
    pub root: PathBuf,
    /// What is mounted, in this order.
    pub mounts: Vec<Mount>,
    /// The device files of this machine that the container may use.
    pub devices: Vec<Device>,
    /// The program and its arguments. A program without a slash is looked for in `PATH`.
    pub command: Vec<String>,
    /// The whole environment.
    pub environment: Vec<(String, String)>,
    /// The working directory.
    pub working_directory: String,
    /// The number of the user.
    pub user: u32,
    /// The number of its group.
    pub group: u32,
    /// Further groups.
    pub groups: Vec<u32>,
}

impl Instruction {
    /// Returns whether it only tries whether a container can be separated from this machine in this way.
    pub(crate) fn is_trial(&self) -> bool {
        self.command.is_empty()
    }

    /// Returns whether it starts the first process of a container that has a second shim as its parent.
    pub(crate) fn has_parent(&self) -> bool {
        self.is_first && self.isolation != Isolation::Root
    }

    /// Returns whether that parent has to end the other processes of the container, because the kernel does not.
    pub(crate) fn is_guarded(&self) -> bool {
        self.has_parent() && self.isolation != Isolation::UserNamespace
    }
}

/// The namespaces of a Pod, which its containers share. They are paths, because the shim can inherit no open files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namespaces {
    /// The user namespace to which the network belongs; `None` if it belongs to this machine's root.
    pub user: Option<PathBuf>,
    /// The network.
    pub network: PathBuf,
}

/// The namespaces of a container that runs, as paths, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inside {
    /// Its user namespace, if it has one.
    pub user: Option<PathBuf>,
    /// Its mounts.
    pub mounts: PathBuf,
}

/// A file or folder of this machine that a container sees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// The path on this machine, which no container can change.
    pub source: PathBuf,
    /// A part of it, whose path may lead through no link; empty for all of it. A folder that does not exist is made.
    pub below: String,
    /// The path in the container.
    pub target: String,
    /// Whether the container may only read it.
    pub read_only: bool,
}

impl Mount {
    /// Returns the path of what is mounted on this machine.
    pub fn path(&self) -> PathBuf {
        if self.below.is_empty() { self.source.clone() } else { self.source.join(&self.below) }
    }
}

/// A device file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Its path, on this machine and in the container.
    pub path: String,
}

impl Device {
    /// The devices that every container has.
    pub fn usual() -> Vec<Self> {
        let paths = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
        paths.map(|path| Self { path: path.to_owned() }).to_vec()
    }
}
