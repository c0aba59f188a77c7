//! The TCP implementation of [`Network`].

use std::io;

use futures::FutureExt;
use futures::future::BoxFuture;
use net::{Proxies, Scheme};
use tokio::net::TcpListener;

use super::{BoxStream, Listener, Network};

/// The TCP network of this machine. Other machines are dialed through the proxies of this process's environment, as upstream's managers do.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealNetwork;

impl Network for RealNetwork {
    fn dial<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<BoxStream>> {
        async move {
            let dialed = net::dial(&Proxies::of_process(), Scheme::Https, host, port).await;
            Ok(Box::new(dialed.map_err(net::Error::into_io)?) as BoxStream)
        }
        .boxed()
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_two_listen_on_one_port() {
        let listener = RealNetwork.listen("127.0.0.1", 0).await.unwrap();
        let port = listener.port();
        let taken = RealNetwork.listen("127.0.0.1", port).await.err().unwrap();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        assert!(RealNetwork.listen("0.0.0.0", port).await.is_err());
        drop(listener);
        assert!(RealNetwork.listen("127.0.0.1", port).await.is_ok());
    }
}
