//! What a host gets with its bootstrap data, whatever their format.

use schemas::bootstrap::{DiskSetup, Ntp, User};

/// A file that is written to the host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct File {
    /// Absolute path.
    pub path: String,
    /// Owner as `user:group`; empty for the default.
    pub owner: String,
    /// Mode in octal digits; empty for the default.
    pub permissions: String,
    /// `base64`, `gzip` or `gzip+base64`; empty for plain text.
    pub encoding: String,
    /// Whether to append to an existing file.
    pub append: bool,
    /// Content in the given encoding.
    pub content: String,
}

impl File {
    /// Creates a file owned by root.
    pub fn root(path: impl Into<String>, permissions: &str, content: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            owner: "root:root".to_owned(),
            permissions: permissions.to_owned(),
            content: content.into(),
            ..Self::default()
        }
    }
}

/// The kubeadm command that runs on the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// `kubeadm init`, on the first control plane node.
    Init,
    /// `kubeadm join`, on every other node.
    Join,
}

/// The content of bootstrap data.
#[derive(Debug, Clone)]
pub struct Host<'a> {
    /// Files, in order.
    pub files: Vec<File>,
    /// Commands that run before kubeadm.
    pub before: &'a [String],
    /// Commands that run after kubeadm.
    pub after: &'a [String],
    /// The kubeadm command.
    pub verb: Verb,
    /// kubeadm's log level.
    pub verbosity: Option<i32>,
    /// Time synchronization.
    pub ntp: Option<&'a Ntp>,
    /// Users, with their passwords filled in.
    pub users: &'a [User],
    /// Partitions and filesystems.
    pub disk_setup: Option<&'a DiskSetup>,
    /// Mounts: a filesystem or its label, a path, and options.
    pub mounts: &'a [Vec<String>],
}
