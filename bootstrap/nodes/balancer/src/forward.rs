//! A connection of a client, and that to its server.

use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::time::timeout;

use crate::limits;
use crate::pool::Pool;

thread_local! {
    /// What is moved at once. Connections that wait have no memory of their own: watches wait for minutes.
    static PIECE: RefCell<Vec<u8>> = RefCell::new(vec![0; limits::PIECE]);
}

/// What became of an attempt to move something.
enum Moved {
    /// Something was moved, or there was nothing yet.
    All,
    /// The receiver has no room for this rest.
    Rest(Vec<u8>),
    /// The sender has nothing more.
    End,
}

/// Forwards a connection until both directions have ended, or one fails. A client that says nothing gets no server.
pub(crate) async fn forward(mut client: TcpStream, pool: Arc<Pool>) {
    let _counted = pool.count();
    let Ok(Ok(_)) = timeout(limits::SPEAK, client.peek(&mut [0])).await else { return };
    let Some((mut server, _counted_there)) = pool.connect().await else { return };
    for stream in [&client, &server] {
        // Whoever has vanished without a word would keep a connection for ever.
        keep_alive(stream).ok();
        stream.set_nodelay(true).ok();
    }
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let both =
        tokio::try_join!(copy(&mut from_client, &mut to_server), copy(&mut from_server, &mut to_client));
    // A side that fails ends the connection: its clients see it.
    drop(both);
}

fn keep_alive(stream: &TcpStream) -> io::Result<()> {
    let probes = TcpKeepalive::new()
        .with_time(limits::QUIET)
        .with_interval(limits::PROBE)
        .with_retries(limits::PROBES);
    SockRef::from(stream).set_tcp_keepalive(&probes)
}

/// Copies one direction until its sender ends it, and then ends it for its receiver.
async fn copy(from: &mut ReadHalf<'_>, to: &mut WriteHalf<'_>) -> io::Result<()> {
    loop {
        from.readable().await?;
        match attempt(from, to)? {
            Moved::All => {}
            Moved::Rest(rest) => to.write_all(&rest).await?,
            Moved::End => return to.shutdown().await,
        }
        // One that always has something leaves room for all others.
        tokio::task::coop::consume_budget().await;
    }
}

fn attempt(from: &ReadHalf<'_>, to: &WriteHalf<'_>) -> io::Result<Moved> {
    PIECE.with_borrow_mut(|piece| {
        let length = match from.try_read(piece) {
            Ok(0) => return Ok(Moved::End),
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Moved::All),
            Err(error) => return Err(error),
        };
        let written = match to.try_write(&piece[..length]) {
            Ok(written) => written,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        if written == length { Ok(Moved::All) } else { Ok(Moved::Rest(piece[written..length].to_vec())) }
    })
}
