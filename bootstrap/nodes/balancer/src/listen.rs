//! The acceptance of connections.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Context, Result};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::task::AbortOnDropHandle;

use crate::forward::forward;
use crate::pool::Pool;
use crate::{limits, process};

/// Where connections are accepted.
pub(crate) struct Listening {
    pub(crate) port: u16,
    _accepts: AbortOnDropHandle<()>,
}

impl Listening {
    /// Listens on a port of all addresses. Each connection takes one of `free`; where there is none, connections wait in the queue of the kernel.
    pub(crate) async fn open(port: u16, pool: &Arc<Pool>, free: &Arc<Semaphore>) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await;
        let listener = listener.with_context(|| format!("port: cannot listen on port {port}"))?;
        let accepts = tokio::spawn(accept(listener, pool.clone(), free.clone()));
        Ok(Self { port, _accepts: AbortOnDropHandle::new(accepts) })
    }
}

async fn accept(listener: TcpListener, pool: Arc<Pool>, free: Arc<Semaphore>) {
    let mut was_full = false;
    loop {
        let is_full = free.available_permits() == 0;
        if is_full && !was_full {
            process::say("there are as many connections as there may be: more wait until one of them ends");
        }
        was_full = is_full;
        // Nobody closes it.
        let Ok(permit) = free.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((client, _)) => {
                let pool = pool.clone();
                tokio::spawn(async move {
                    forward(client, pool).await;
                    drop(permit);
                });
            }
            Err(error) => {
                process::say(&format!("cannot accept a connection: {error}"));
                tokio::time::sleep(limits::ACCEPT_AGAIN).await;
            }
        }
    }
}
