//! Stand-ins for the programs of a Kubernetes node, inside a machine that starts in seconds: cloud-init, kubeadm with the kubelet, and
//! kube-apiserver. They check what they are given strictly, and fail with a message as the real ones do.
//!
//! They are this program itself, called as `netboot-tests --as NAME ARGUMENT…`, so that a disk image needs one file.

mod api_server;
mod cloud_init;
mod configuration;
mod init;
mod join;
mod report;

use anyhow::{Result, bail};

/// The flag that the name of a program follows.
pub const AS: &str = "--as";

/// Runs the program `name`.
///
/// # Errors
/// The program fails, or there is no such program.
pub fn run(name: &str, arguments: &[String]) -> Result<()> {
    match (name, arguments) {
        ("cloud-init", [drive]) => cloud_init::run(drive.as_ref()),
        ("kubeadm", [verb, flag, file, ..]) if flag == "--config" => match verb.as_str() {
            "init" => init::run(file.as_ref()),
            "join" => wait(join::run(file.as_ref())),
            _ => bail!("kubeadm {verb} is not a command of the stand-in"),
        },
        ("kube-apiserver", [file]) => wait(api_server::run(file.as_ref())),
        _ => bail!("{name} {} cannot be run", arguments.join(" ")),
    }
}

fn wait(work: impl Future<Output = Result<()>>) -> Result<()> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}
