//! Tests of webhook calls, and of admission by their responses.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod admission;
mod calls;
mod mutating;
mod policies;

use std::io;

use futures::FutureExt;
use futures::future::BoxFuture;
use net::{BoxStream, Dial};
use tokio::net::TcpStream;

/// Connects over TCP.
struct Loopback;

impl Dial for Loopback {
    fn dial<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<BoxStream>> {
        async move { Ok(Box::new(TcpStream::connect((host, port)).await?) as BoxStream) }.boxed()
    }
}
