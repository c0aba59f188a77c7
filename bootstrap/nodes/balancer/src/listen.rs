//! The acceptance of connections.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Context, Result};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::task::AbortOnDropHandle;

use crate::console::say;
use crate::forward::forward;
use crate::limits;
use crate::pool::Pool;
use crate::shares::Shares;

/// The connections that may still be accepted, also after the port has changed.
pub(crate) struct Free {
    connections: Arc<Semaphore>,
    shares: Arc<Shares>,
}

impl Free {
    pub(crate) fn new(most: usize) -> Self {
        Self { connections: Arc::new(Semaphore::new(most)), shares: Shares::of(most) }
    }
}

/// Where connections are accepted.
pub(crate) struct Listening {
    pub(crate) port: u16,
    _accepts: AbortOnDropHandle<()>,
}

impl Listening {
    /// Listens on a port of all addresses. Where none is free, connections wait in the queue of the kernel.
    /// One beyond the share of its client is closed.
    pub(crate) async fn open(port: u16, pool: &Arc<Pool>, free: &Free) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await;
        let listener = listener.with_context(|| format!("port: cannot listen on port {port}"))?;
        let accepts =
            tokio::spawn(accept(listener, pool.clone(), free.connections.clone(), free.shares.clone()));
        Ok(Self { port, _accepts: AbortOnDropHandle::new(accepts) })
    }
}

async fn accept(listener: TcpListener, pool: Arc<Pool>, free: Arc<Semaphore>, shares: Arc<Shares>) {
    let mut was_full = false;
    loop {
        let is_full = free.available_permits() == 0;
        if is_full && !was_full {
            say("there are as many connections as there may be: more wait until one of them ends");
        }
        was_full = is_full;
        // Nobody closes it.
        let Ok(permit) = free.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((client, from)) => {
                // Dropped, it is closed.
                let Some(share) = shares.take(from.ip()) else { continue };
                let pool = pool.clone();
                tokio::spawn(async move {
                    forward(client, pool).await;
                    drop((permit, share));
                });
            }
            Err(error) => {
                say(&format!("cannot accept a connection: {error}"));
                tokio::time::sleep(limits::ACCEPT_AGAIN).await;
            }
        }
    }
}
