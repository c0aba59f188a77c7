//! A replacement for envtest's binaries: controller-runtime's envtest starts `etcd` and `kube-apiserver` from a directory with its own
//! flags, and this binary implements both under those names. `kube-apiserver` keeps everything in memory; `etcd` only answers health
//! checks.
//!
//! As with the real binaries, there is no garbage collection and no namespace deletion, because kube-controller-manager does not run,
//! and some test suites rely on that. [`CONTROLLERS`] changes it.

mod apiserver;
mod etcd;
pub mod flags;
pub mod kubectl;

use std::ffi::OsStr;
use std::path::Path;

use anyhow::{Context, Result};

use crate::logging::{self, Verbosity};
use crate::output::say;
use flags::Flags;

/// The environment variable that, set to `1`, enables garbage collection, namespace deletion, and kube-controller-manager's other work
/// for the API.
const CONTROLLERS: &str = "FIRSTLIGHT_ENVTEST_CONTROLLERS";

/// The programs that envtest starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// The API server.
    KubeApiserver,
    /// The store, which the real API server would need.
    Etcd,
}

impl Program {
    const ALL: [Self; 2] = [Self::KubeApiserver, Self::Etcd];

    /// Returns the file name of the program.
    pub fn name(self) -> &'static str {
        match self {
            Self::KubeApiserver => "kube-apiserver",
            Self::Etcd => "etcd",
        }
    }

    /// Returns the program that the first argument of a process names; `None` if it is neither.
    pub fn called(argument: &OsStr) -> Option<Self> {
        let name = Path::new(argument).file_name()?;
        Self::ALL.into_iter().find(|program| name == program.name())
    }

    /// Runs until SIGTERM, or prints help or version. `arguments` excludes the first argument.
    ///
    /// # Errors
    /// A flag is invalid, a file cannot be read, or a port is in use.
    pub fn run(self, arguments: impl Iterator<Item = String>) -> Result<()> {
        let flags = Flags::parse(arguments)?;
        if flags.is_on("help") || flags.is_on("h") {
            return say(self.help());
        }
        if flags.is_on("version") {
            return say(self.version());
        }
        logging::start(Verbosity::Information);
        let runtime = match self {
            Self::KubeApiserver => tokio::runtime::Builder::new_multi_thread().enable_all().build(),
            Self::Etcd => tokio::runtime::Builder::new_current_thread().enable_all().build(),
        };
        runtime.context("cannot start the runtime")?.block_on(async {
            match self {
                Self::KubeApiserver => apiserver::run(&flags).await,
                Self::Etcd => etcd::run(&flags).await,
            }
        })
    }

    /// Returns the text of `--help`. envtest looks for flags at the beginning of its lines.
    pub fn help(self) -> &'static str {
        match self {
            Self::KubeApiserver => apiserver::HELP,
            Self::Etcd => etcd::HELP,
        }
    }

    fn version(self) -> &'static str {
        match self {
            Self::KubeApiserver => concat!("Kubernetes v1.36.0+firstlight.", env!("CARGO_PKG_VERSION"), "\n"),
            Self::Etcd => concat!("etcd Version: 3.6.0+firstlight.", env!("CARGO_PKG_VERSION"), "\n"),
        }
    }
}

/// `firstlight envtest DIR`: links or copies this binary to `directory` under both names, and puts a `kubectl` there.
///
/// # Errors
/// The directory cannot be written.
pub fn install(directory: &Path) -> Result<()> {
    let binary = std::env::current_exe().context("cannot find this program's own file")?;
    let failed = || format!("cannot fill {}", directory.display());
    std::fs::create_dir_all(directory).with_context(failed)?;
    let directory = directory.canonicalize().with_context(failed)?;
    for program in Program::ALL {
        let path = directory.join(program.name());
        let new = directory.join(format!(".{}.new", program.name()));
        match std::fs::remove_file(&new) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(failed);
            }
            _ => {}
        }
        // A hard link needs no space; the copy is for a different file system.
        if std::fs::hard_link(&binary, &new).is_err() {
            std::fs::copy(&binary, &new).with_context(failed)?;
        }
        files::publish(&new, &path)?;
        // Renaming a link onto another link to the same file leaves both, so the first is removed.
        drop(std::fs::remove_file(&new));
    }
    kubectl::install(&directory, &std::env::var_os("PATH").unwrap_or_default())?;
    say(&format!("export KUBEBUILDER_ASSETS={}\n", directory.display()))
}
