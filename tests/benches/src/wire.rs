//! Lower bound for an event to a watcher: encryption and the socket, without HTTP and without waking a task.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use anyhow::{Context, Result};
use machinery::clock::Clock;
use machinery::random::Random;
use pki::tls::{ClientCertificates, ServerCertificates};
use pki::{CertificateAuthority, KeyAlgorithm, Leaf};
use rustls::{ClientConnection, RootCertStore, ServerConnection, StreamOwned};

const MESSAGE: usize = 11 * 1024;
const MESSAGES: usize = 50_000;
/// Clock ticks per second in `/proc/thread-self/stat`.
const TICKS: f64 = 100.0;

/// Returns the CPU time in microseconds that a thread needs per message.
///
/// # Errors
/// Returns the errors of the socket.
pub fn cost(clock: &Clock) -> Result<f64> {
    let random = Random::system();
    let authority = CertificateAuthority::generate(
        "bench-authority",
        KeyAlgorithm::EcdsaP256,
        None,
        clock.now(),
        &random,
    )?;
    let leaf = Leaf::server("bench", vec!["localhost".into()]);
    let identity = authority.issue(&leaf, clock.now(), &random)?;
    let certificates = Arc::new(ServerCertificates::new(&identity)?);
    let clients = ClientCertificates::Optional(authority.certificate().to_owned());
    let server = pki::tls::server_config(certificates, &clients, &[], clock)?;
    let mut roots = RootCertStore::empty();
    for certificate in pki::certificates(authority.certificate())? {
        roots.add(certificate)?;
    }
    let client = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();

    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let to = listener.local_addr()?;
    let reader = std::thread::spawn(move || -> Result<()> {
        let connection = ClientConnection::new(Arc::new(client), "localhost".try_into()?)?;
        let mut stream = StreamOwned::new(connection, TcpStream::connect(to)?);
        stream.write_all(b"go")?;
        let mut buffer = vec![0; 64 * 1024];
        let mut left = MESSAGE * MESSAGES;
        while left > 0 {
            left -= stream.read(&mut buffer)?;
        }
        Ok(())
    });
    let (socket, _) = listener.accept()?;
    let mut stream = StreamOwned::new(ServerConnection::new(Arc::new(server))?, socket);
    let mut go = [0; 2];
    stream.read_exact(&mut go)?;
    let message = vec![b'x'; MESSAGE];
    let before = thread_cpu()?;
    for _ in 0..MESSAGES {
        stream.write_all(&message)?;
    }
    let taken = thread_cpu()? - before;
    reader.join().ok().context("the reader panicked")??;
    Ok(taken * 1e6 / MESSAGES as f64)
}

/// Returns user and system time of this thread in seconds.
fn thread_cpu() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/thread-self/stat")?;
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks = |index: usize| fields.get(index).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    Ok((ticks(11) + ticks(12)) / TICKS)
}
