//! The options that select the cluster of a command.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clusterctl::Error;
use clusterctl::connection::{Choice, Connection};
use server::data_directory::DataDirectory;
use server::merge_kubeconfig::users_own;
use server::options::DirectoryOptions;
use tokio::net::TcpStream;

/// The timeout of a connection to a server on this machine.
const LOCAL_TIMEOUT: Duration = Duration::from_secs(2);

/// The options that select the cluster of a command.
#[derive(Debug, Clone, Args)]
pub struct TargetOptions {
    /// Kubeconfig of the management cluster [default: the server on --data-dir, else $KUBECONFIG, else ~/.kube/config]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context within the kubeconfig.
    #[command(flatten)]
    pub context: Context,
    /// The data directory of the server.
    #[command(flatten)]
    pub directory: DirectoryOptions,
}

/// The option `--kubeconfig-context`.
#[derive(Debug, Clone, Args)]
pub struct Context {
    /// Context within the kubeconfig [default: its current context]
    #[arg(long, value_name = "NAME")]
    pub kubeconfig_context: Option<String>,
}

impl TargetOptions {
    /// Connects to the cluster of `--kubeconfig`, otherwise to the server that runs on the data directory, otherwise to the cluster of
    /// kubectl's kubeconfig.
    ///
    /// # Errors
    /// A given data directory has no running server, or there is no usable kubeconfig.
    pub async fn connect(&self) -> clusterctl::Result<Connection> {
        let choice = self.choice().await?;
        if choice.kubeconfig.is_none()
            && let (Ok(directory), Ok(kubeconfig)) = (DataDirectory::locate(None), users_own())
            && !kubeconfig.exists()
        {
            return Err(Error::invalid(format!(
                "no server runs on {}, and there is no kubeconfig {}; start a server with `firstlight up`, or name a cluster with --kubeconfig",
                directory.path().display(),
                kubeconfig.display()
            )));
        }
        choice.connect().await
    }

    /// Returns the choice of the kubeconfig and its context.
    ///
    /// # Errors
    /// A given data directory has no running server.
    pub async fn choice(&self) -> clusterctl::Result<Choice> {
        let kubeconfig = match self.kubeconfig.clone().filter(|path| !path.as_os_str().is_empty()) {
            Some(path) => Some(path),
            None => self.running().await?,
        };
        Ok(Choice { kubeconfig, context: self.context.kubeconfig_context.clone() })
    }

    async fn running(&self) -> clusterctl::Result<Option<PathBuf>> {
        let named = self.directory.data_dir.as_deref();
        let found = match DataDirectory::locate(named) {
            Ok(directory) => directory.running().map_err(|error| Error::invalid(format!("{error:#}")))?,
            Err(_) => None,
        };
        if let Some(running) = found
            && accepts(&running.server).await
        {
            return Ok(Some(running.kubeconfig));
        }
        match named {
            Some(path) => Err(Error::invalid(format!(
                "no server runs on {}; start one with `firstlight up` or `firstlight serve`, or name another cluster with --kubeconfig",
                path.display()
            ))),
            None => Ok(None),
        }
    }
}

/// Returns whether a server accepts connections: after a crash the file of a running server may still exist.
async fn accepts(server: &str) -> bool {
    let address = server.strip_prefix("https://").unwrap_or(server);
    let connected = tokio::time::timeout(LOCAL_TIMEOUT, TcpStream::connect(address)).await;
    matches!(connected, Ok(Ok(_)))
}
