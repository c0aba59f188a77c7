//! Tests of webhook calls, and of admission by their responses.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod admission;
mod calls;

use std::io;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::net::TcpStream;
use webhook::{Dialer, Stream};

/// Connects over TCP.
struct Loopback;

impl Dialer for Loopback {
    fn dial<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Box<dyn Stream>>> {
        async move { Ok(Box::new(TcpStream::connect((host, port)).await?) as Box<dyn Stream>) }.boxed()
    }
}
