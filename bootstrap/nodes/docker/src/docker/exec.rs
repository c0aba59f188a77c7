//! A program that is run in a container.
//!
//! Docker has no call that ends one. So `timeout` of the image runs it (timeout(1), of GNU's coreutils as in the images of kind), which kills its
//! process group when its time is over: also when this process or the daemon is away then.
//!
//! When this process ends, the program's standard input ends, and it goes on until its time is over.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::FutureExt;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use serde_json::json;
use system_containers::{Exec, Exit};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::containers::Containers;
use crate::api::{Executed, Made};
use crate::client::Client;
use crate::{frames, limits};

pub(super) async fn exec(containers: &Containers, name: &str, exec: Exec<'_>) -> Result<Exit> {
    let client = containers.client();
    let Exec { command, environment, stdin, stdout, stderr, time_limit } = exec;
    if command.is_empty() {
        bail!("there is no command to run");
    }
    let is_privileged = containers.own(name).await?.host_config.privileged;
    let environment: Vec<String> =
        environment.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    let sent = json!({
        "AttachStdin": true, "AttachStdout": true, "AttachStderr": true, "Tty": false,
        "Privileged": is_privileged, "User": "0", "WorkingDir": "/",
        "Env": environment, "Cmd": limited(command, time_limit),
    });
    let program = async {
        let path = format!("/containers/{name}/exec");
        let made: Made = client.post(&path, sent, limits::CALL).await?;
        let sent = json!({"Detach": false, "Tty": false});
        let stream = client.upgrade(&format!("/exec/{}/start", made.id), sent).await?;
        let attached = attach(stream, stdin, stdout, stderr).await;
        attached.with_context(|| format!("{} broke off", client.engine().name()))?;
        exit_code(client, &made.id).await
    };
    let program = program.fuse();
    tokio::pin!(program);
    match tokio::time::timeout(time_limit, &mut program).await {
        Ok(code) => Ok(Exit::Code(code?)),
        Err(_) => {
            // In a container that is paused meanwhile, it ends when that is resumed.
            tokio::time::timeout(limits::EXEC_END, program).await.ok();
            Ok(Exit::TimedOut)
        }
    }
}

/// Returns the exit code of a program whose streams have ended.
async fn exit_code(client: &Client, id: &str) -> Result<i32> {
    let [mut pause, longest] = limits::EXIT_AGAIN;
    loop {
        let found: Executed = client.get(&format!("/exec/{id}/json")).await?;
        if let (false, Some(code)) = (found.running, found.exit_code) {
            return Ok(code);
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(longest);
    }
}

/// Returns a command with its time limit.
fn limited(command: Vec<String>, limit: Duration) -> Vec<String> {
    if limit > limits::EXEC {
        return command;
    }
    let seconds = limit.as_millis().div_ceil(1000).max(1);
    let mut words = vec!["timeout".to_owned(), "-s".to_owned(), "KILL".to_owned(), seconds.to_string()];
    words.extend(command);
    words
}

/// Copies all streams until those of the program end.
async fn attach(
    stream: TokioIo<Upgraded>,
    mut stdin: impl AsyncRead + Unpin,
    stdout: impl AsyncWrite + Unpin,
    stderr: impl AsyncWrite + Unpin,
) -> Result<()> {
    let (from, mut to) = tokio::io::split(stream);
    let feed = async {
        // A program need not read everything.
        tokio::io::copy(&mut stdin, &mut to).await.ok();
        to.shutdown().await.ok();
        std::future::pending::<std::convert::Infallible>().await
    };
    tokio::select! {
        biased;
        copied = frames::copy(from, stdout, stderr) => copied,
        never = feed => match never {},
    }
}
