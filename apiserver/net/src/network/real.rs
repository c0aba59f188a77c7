//! The TCP implementation of [`Network`].

use std::io;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::net::TcpListener;

use super::{Dial, Listener, Network};
use crate::dial::{Scheme, dial};
use crate::error::Error;
use crate::proxies::Proxies;
use crate::stream::BoxStream;

/// The TCP network of this machine. Other machines are dialed through the proxies of this process's environment, as upstream's managers do.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealNetwork;

impl Dial for RealNetwork {
    fn dial<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<BoxStream>> {
        async move {
            let dialed = dial(&Proxies::of_process(), Scheme::Https, host, port).await;
            Ok(Box::new(dialed.map_err(Error::into_io)?) as BoxStream)
        }
        .boxed()
    }
}

impl Network for RealNetwork {
    fn listen<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Box<dyn Listener>>> {
        async move {
            let listener = TcpListener::bind((host, port)).await?;
            let port = listener.local_addr()?.port();
            Ok(Box::new(RealListener { listener, port }) as Box<dyn Listener>)
        }
        .boxed()
    }
}

struct RealListener {
    listener: TcpListener,
    port: u16,
}

impl Listener for RealListener {
    fn accept(&mut self) -> BoxFuture<'_, io::Result<(BoxStream, String)>> {
        async move {
            let (stream, peer) = self.listener.accept().await?;
            stream.set_nodelay(true)?;
            Ok((Box::new(stream) as BoxStream, peer.to_string()))
        }
        .boxed()
    }

    fn port(&self) -> u16 {
        self.port
    }
}
