//! Makes bootstrap data fit for a node in a container.

use crate::error::Error;
use crate::kubeadm::{command, configuration};
use crate::options::NodeOptions;
use crate::steps::{Action, Bootstrap, Command, Step, WriteFile};

/// The files with kubeadm's configuration: those of cloud-config for `init` and `join`, and that of Ignition.
const CONFIGURATIONS: &[&str] =
    &["/run/kubeadm/kubeadm.yaml", "/run/kubeadm/kubeadm-join-config.yaml", "/etc/kubeadm.yml"];

/// The script that runs kubeadm in Ignition's data.
const SCRIPT: &str = "/etc/kubeadm.sh";

impl Bootstrap {
    /// Returns the steps with kubeadm's configuration and commands as a node in a container needs them.
    ///
    /// # Errors
    /// kubeadm's configuration cannot be read.
    pub fn adapt(mut self, options: NodeOptions) -> Result<Self, Error> {
        for step in &mut self.steps {
            match &mut step.action {
                Action::WriteFile(file) => adapt_file(file, options)?,
                Action::Run(command) => {
                    let adapted = match command {
                        Command::Arguments(words) => Command::Arguments(command::words(words)),
                        Command::Shell(text) => Command::Shell(command::text(text)),
                    };
                    if adapted != *command {
                        *step = Step::run(adapted);
                    }
                }
            }
        }
        self.check()
    }
}

fn adapt_file(file: &mut WriteFile, options: NodeOptions) -> Result<(), Error> {
    let is_script = file.path == SCRIPT;
    if !is_script && !CONFIGURATIONS.contains(&file.path.as_str()) {
        return Ok(());
    }
    let text = std::str::from_utf8(&file.content).map_err(|_| Error::field(&file.path, "it is not UTF-8"))?;
    let adapted = if is_script {
        command::text(text)
    } else {
        configuration::adapt(text, options).map_err(|why| Error::field(&file.path, why))?
    };
    file.content = adapted.into_bytes();
    Ok(())
}
