//! A connection through a proxy that speaks SOCKS 5 (RFC 1928, and RFC 1929 for credentials).

use std::io;
use std::net::IpAddr;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::dial::written;
use crate::error::Error;
use crate::proxy::{Credentials, Proxy};

const VERSION: u8 = 5;
const CONNECT: u8 = 1;
/// The version of the exchange of credentials.
const CREDENTIALS: u8 = 1;
const WITHOUT_CREDENTIALS: u8 = 0;
const WITH_CREDENTIALS: u8 = 2;
const NONE_ACCEPTABLE: u8 = 0xff;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// Asks the proxy at the other end of `stream` for a connection to `host` and `port`. The proxy resolves the name.
///
/// # Errors
/// The proxy does not make it.
pub(crate) async fn open(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    proxy: &Proxy,
    host: &str,
    port: u16,
) -> Result<(), Error> {
    let broken = |cause: io::Error| {
        let cause = match cause.kind() {
            io::ErrorKind::UnexpectedEof => "it closes the connection without an answer".to_owned(),
            _ => cause.to_string(),
        };
        Error::Unreachable { proxy: proxy.to_string(), cause }
    };
    if !authenticated(stream, proxy.credentials.as_ref()).await.map_err(broken)? {
        return Err(Error::Credentials { proxy: proxy.to_string() });
    }
    let reply = connect(stream, host, port).await.map_err(broken)?;
    let (proxy, to) = (proxy.to_string(), written(host, port));
    match reply {
        0 => Ok(()),
        2 => Err(Error::Forbidden { proxy, to, answer: words(reply) }),
        other => Err(Error::Refused { proxy, to, answer: words(other) }),
    }
}

/// Whether the proxy takes this client, with the credentials if it wants some.
async fn authenticated(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    credentials: Option<&Credentials>,
) -> io::Result<bool> {
    let methods = match credentials {
        Some(_) => vec![WITHOUT_CREDENTIALS, WITH_CREDENTIALS],
        None => vec![WITHOUT_CREDENTIALS],
    };
    let greeting = [&[VERSION, length(methods.len())?], methods.as_slice()].concat();
    stream.write_all(&greeting).await?;
    stream.flush().await?;
    version(stream).await?;
    match (stream.read_u8().await?, credentials) {
        (WITHOUT_CREDENTIALS, _) => Ok(true),
        (WITH_CREDENTIALS, Some(Credentials { user, password })) => {
            let (users, passwords) = ([length(user.len())?], [length(password.len())?]);
            let message = [&[CREDENTIALS], &users[..], user, &passwords[..], password].concat();
            stream.write_all(&message).await?;
            stream.flush().await?;
            stream.read_u8().await?;
            Ok(stream.read_u8().await? == 0)
        }
        (WITH_CREDENTIALS, None) | (NONE_ACCEPTABLE, _) => Ok(false),
        (other, _) => Err(io::Error::other(format!("it wants the unknown method {other}"))),
    }
}

/// Asks for the connection, and returns the proxy's reply.
async fn connect(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    host: &str,
    port: u16,
) -> io::Result<u8> {
    let mut request = vec![VERSION, CONNECT, 0];
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => request.extend([&[IPV4], &address.octets()[..]].concat()),
        Ok(IpAddr::V6(address)) => request.extend([&[IPV6], &address.octets()[..]].concat()),
        Err(_) => request.extend([&[NAME, length(host.len())?], host.as_bytes()].concat()),
    }
    request.extend(port.to_be_bytes());
    stream.write_all(&request).await?;
    stream.flush().await?;
    version(stream).await?;
    let reply = stream.read_u8().await?;
    if reply != 0 {
        return Ok(reply);
    }
    stream.read_u8().await?;
    // The address at which the proxy has connected, which nobody needs.
    let rest = match stream.read_u8().await? {
        IPV4 => 4,
        IPV6 => 16,
        NAME => usize::from(stream.read_u8().await?),
        other => return Err(io::Error::other(format!("it names an address of the unknown type {other}"))),
    };
    stream.read_exact(&mut vec![0; rest + 2]).await?;
    Ok(reply)
}

async fn version(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
    match stream.read_u8().await? {
        VERSION => Ok(()),
        _ => Err(io::Error::other("it does not speak SOCKS 5")),
    }
}

/// The length of a name, user or password, which is one byte.
fn length(length: usize) -> io::Result<u8> {
    length.try_into().map_err(|_| io::Error::other("a name, user or password has more than 255 bytes"))
}

fn words(reply: u8) -> String {
    let known = match reply {
        1 => "it failed",
        2 => "its rules do not allow it",
        3 => "the network is unreachable",
        4 => "the host is unreachable",
        5 => "connection refused",
        6 => "it took too long",
        7 => "it does not make connections",
        8 => "it does not know this type of address",
        other => return format!("the reply is {other}"),
    };
    known.to_owned()
}
