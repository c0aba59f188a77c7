//! A server that is stopped while a client is slow.

use std::time::Duration;

use anyhow::{Context, Result};
use machinery::clock::Clock;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::AsyncWriteExt;

use crate::lab::{Lab, Options, until};
use crate::report::Broken;

/// Limit for the time between SIGTERM and the end. The goal on an idle machine is one second.
const END: Duration = Duration::from_secs(8);

/// A body that arrives one byte at a time must not delay the shutdown.
pub async fn slow_upload(options: &Options, broken: &mut Broken) -> Result<String> {
    let mut lab = Lab::start(options).await?;
    lab.furnish().await?;
    let token = lab.token("plain").await?;
    let mut stream = lab.endpoint.connect(lab.endpoint.tls(None, "http/1.1")?, 2).await?;
    let head = format!(
        "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    let clock = Clock::system();
    let slow = clock.clone();
    let upload = tokio::spawn(async move {
        while stream.write_all(b" ").await.is_ok() && stream.flush().await.is_ok() {
            slow.sleep(Duration::from_millis(100)).await;
        }
    });
    clock.sleep(Duration::from_millis(500)).await;
    let process = Pid::from_raw(i32::try_from(lab.server.id().context("a process")?)?);
    let start = clock.monotonic();
    kill(process, Signal::SIGTERM)?;
    until("the end after SIGTERM", Duration::from_secs(60), async || lab.server.ended().ok().flatten())
        .await?;
    let taken = start.elapsed();
    upload.abort();
    if taken > END {
        broken.add(format!("a slow upload held up SIGTERM for {} ms", taken.as_millis()));
    }
    Ok(format!("SIGTERM during a slow upload: ended after {} ms", taken.as_millis()))
}
