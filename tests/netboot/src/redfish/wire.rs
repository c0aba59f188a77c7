//! A network of services inside of a test: streams without sockets, which also work with a paused clock.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use bmc::network::{Datagrams, Network};
use futures::future::BoxFuture;
use net::{BoxStream, Dial};

use super::serve::Identity;
use super::service::Service;

/// Buffer size of a stream in bytes.
const BUFFER: usize = 64 * 1024;

/// A service, and its certificate if it uses TLS.
type Place = (Arc<Service>, Option<Identity>);

/// Services by host.
#[derive(Default)]
pub struct Wire(Mutex<BTreeMap<String, Place>>);

impl Wire {
    /// Adds a service at a host, on every port.
    pub fn add(&self, host: &str, service: Arc<Service>, identity: Option<Identity>) {
        let mut services = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        services.insert(host.to_owned(), (service, identity));
    }
}

impl Dial for Wire {
    fn dial<'a>(&'a self, host: &'a str, _port: u16) -> BoxFuture<'a, io::Result<BoxStream>> {
        Box::pin(async move {
            let found = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(host).cloned();
            let (service, identity) = found.ok_or(io::ErrorKind::ConnectionRefused)?;
            let (ours, theirs) = tokio::io::duplex(BUFFER);
            tokio::spawn(service.serve(theirs, identity));
            Ok(Box::new(ours) as BoxStream)
        })
    }
}

impl Network for Wire {
    fn datagrams<'a>(&'a self, _host: &'a str, _port: u16) -> BoxFuture<'a, io::Result<Box<dyn Datagrams>>> {
        Box::pin(async { Err(io::ErrorKind::Unsupported.into()) })
    }

    fn broadcast<'a>(
        &'a self,
        _interface: &'a str,
        _port: u16,
        _datagram: &'a [u8],
    ) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async { Err(io::ErrorKind::Unsupported.into()) })
    }
}
