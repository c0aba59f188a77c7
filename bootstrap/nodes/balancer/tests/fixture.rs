//! A balancer of a test, and API servers before which it stands.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use machinery::clock::Clock;
use parking_lot::Mutex;
use system_containers::balancer::{Configuration, Health, Server, ServerStatus, Status};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;

/// After this time, what a test waits for does not come any more.
const PATIENCE: Duration = Duration::from_secs(20);

/// A balancer, which ends with this.
pub struct Fixture {
    pub folder: TempDir,
    pub port: u16,
    balancer: AbortHandle,
}

impl Fixture {
    /// Starts a balancer before these servers.
    pub async fn new(servers: &[&Api], most: usize) -> Self {
        Self::with(servers.iter().map(|api| api.server()).collect(), most).await
    }

    pub async fn with(servers: Vec<Server>, most: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = free_port().await;
        node_balancer::write(folder.path(), &Configuration { port, servers }).unwrap();
        let opened = node_balancer::open(folder.path()).unwrap();
        let (ready, listens) = tokio::sync::oneshot::channel();
        let serve = async move { opened.serve(most, || ready.send(()).unwrap()).await.unwrap() };
        let balancer = tokio::spawn(serve).abort_handle();
        listens.await.unwrap();
        Self { folder, port, balancer }
    }

    /// Gives it other servers, which it uses when this returns.
    pub async fn configure(&self, servers: Vec<Server>) -> Status {
        let configuration = Configuration { port: self.port, servers };
        node_balancer::write(self.folder.path(), &configuration).unwrap();
        let status = self.status().await;
        assert_eq!(status.configuration, configuration);
        status
    }

    pub fn file(&self) -> PathBuf {
        self.folder.path().join("configuration/balancer.json")
    }

    pub async fn status(&self) -> Status {
        node_balancer::read_status(self.folder.path()).await.unwrap()
    }

    /// Waits for a status.
    pub async fn until(&self, what: &str, is_so: impl Fn(&Status) -> bool) -> Status {
        let clock = Clock::system();
        let deadline = clock.monotonic() + PATIENCE;
        loop {
            let status = self.status().await;
            if is_so(&status) {
                return status;
            }
            assert!(clock.monotonic() < deadline, "{what} did not happen: {status:?}");
            clock.sleep(Duration::from_millis(5)).await;
        }
    }

    pub async fn until_healthy(&self, count: usize) -> Status {
        self.until(&format!("{count} healthy servers"), |status| status.healthy().count() == count).await
    }

    pub async fn connect(&self) -> Client {
        self.connect_from(1).await
    }

    /// Connects as another client.
    pub async fn connect_from(&self, number: u8) -> Client {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((Ipv4Addr::new(127, 0, 0, number), 0).into()).unwrap();
        Client(socket.connect((Ipv4Addr::LOCALHOST, self.port).into()).await.unwrap())
    }

    /// Connects, and returns the connection and the name of the server that has it.
    pub async fn served(&self) -> (Client, String) {
        let mut client = self.connect().await;
        let name = client.ask("name").await.unwrap();
        (client, name)
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.balancer.abort();
    }
}

/// A connection of a client.
pub struct Client(pub TcpStream);

impl Client {
    /// Says a line and returns the answer; `None` if the connection has ended.
    pub async fn ask(&mut self, line: &str) -> Option<String> {
        self.0.write_all(format!("{line}\n").as_bytes()).await.ok()?;
        within(read_line(&mut self.0)).await
    }
}

pub async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it takes too long")
}

async fn read_line(stream: &mut TcpStream) -> Option<String> {
    let mut line = Vec::new();
    loop {
        match stream.read_u8().await.ok()? {
            b'\n' => return String::from_utf8(line).ok(),
            byte => line.push(byte),
        }
    }
}

/// How a server answers checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Code(u16),
    /// It never answers.
    Silent,
    /// It speaks another protocol than TLS.
    Plain,
}

/// A server. It answers checks over TLS. What begins otherwise is a connection of a test: `name` is answered with the name of the server, `send N`
/// with N bytes, any other line with itself, and the end of the input with `bye`.
pub struct Api {
    name: String,
    port: u16,
    pub answer: Arc<Mutex<Answer>>,
    tasks: Arc<Mutex<Vec<AbortHandle>>>,
}

impl Api {
    pub async fn new(name: &str) -> Self {
        let api = Self {
            name: name.to_owned(),
            port: free_port().await,
            answer: Arc::new(Mutex::new(Answer::Code(200))),
            tasks: Arc::default(),
        };
        api.start().await;
        api
    }

    /// One that has not been started yet.
    pub async fn stopped(name: &str) -> Self {
        let api = Self::new(name).await;
        api.stop().await;
        api
    }

    pub fn server(&self) -> Server {
        Server { name: self.name.clone(), address: Ipv4Addr::LOCALHOST, port: self.port, drain: false }
    }

    pub fn draining(&self) -> Server {
        Server { drain: true, ..self.server() }
    }

    pub async fn start(&self) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).await.unwrap();
        let (name, answer, tasks) = (self.name.clone(), self.answer.clone(), self.tasks.clone());
        let accept = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let serving = serve(stream, name.clone(), answer.clone());
                tasks.lock().push(tokio::spawn(serving).abort_handle());
            }
        });
        self.tasks.lock().push(accept.abort_handle());
    }

    /// Ends its process, so to speak: connections end, and none is accepted.
    pub async fn stop(&self) {
        self.tasks.lock().drain(..).for_each(|task| task.abort());
        within(async { while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).await.is_ok() {} }).await;
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        self.tasks.lock().drain(..).for_each(|task| task.abort());
    }
}

async fn serve(mut stream: TcpStream, name: String, answer: Arc<Mutex<Answer>>) {
    let mut first = [0];
    let is_tls = stream.peek(&mut first).await.is_ok_and(|length| length > 0) && first[0] == 0x16;
    if !is_tls {
        while let Some(line) = read_line(&mut stream).await {
            let answer = match line.strip_prefix("send ") {
                Some(count) => vec![b'x'; count.parse().unwrap()],
                None if line == "name" => format!("{name}\n").into_bytes(),
                None => format!("{line}\n").into_bytes(),
            };
            if stream.write_all(&answer).await.is_err() {
                return;
            }
        }
        stream.write_all(b"bye").await.ok();
        return;
    }
    let answer = *answer.lock();
    match answer {
        Answer::Plain => drop(stream.write_all(b"HTTP/1.0 400 Bad Request\r\n\r\n").await),
        Answer::Silent => std::future::pending().await,
        Answer::Code(code) => {
            let Ok(mut stream) = acceptor().accept(stream).await else { return };
            let mut request = [0; 1024];
            let length = stream.read(&mut request).await.unwrap();
            assert!(request[..length].starts_with(b"GET /readyz HTTP/1.1\r\n"));
            let answer = format!("HTTP/1.1 {code} So\r\nContent-Length: 2\r\n\r\nok");
            stream.write_all(answer.as_bytes()).await.ok();
            stream.shutdown().await.ok();
        }
    }
}

fn acceptor() -> TlsAcceptor {
    static ACCEPTOR: std::sync::OnceLock<TlsAcceptor> = std::sync::OnceLock::new();
    let make = || {
        let key = rcgen::generate_simple_self_signed(vec!["kubernetes".to_owned()]).unwrap();
        let secret = rustls::pki_types::PrivatePkcs8KeyDer::from(key.signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![key.cert.der().clone()], secret.into())
            .unwrap();
        TlsAcceptor::from(Arc::new(config))
    };
    ACCEPTOR.get_or_init(make).clone()
}

/// A port that nobody uses. The kernel does not give it to a connection, because none of these is among those that it chooses by itself.
async fn free_port() -> u16 {
    use std::sync::atomic::{AtomicU16, Ordering};

    static NEXT: AtomicU16 = AtomicU16::new(0);
    loop {
        let port =
            20000 + (std::process::id() % 100) as u16 * 100 + NEXT.fetch_add(1, Ordering::Relaxed) % 100;
        if TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await.is_ok() {
            return port;
        }
    }
}

/// The status of a server.
pub fn of<'a>(status: &'a Status, name: &str) -> &'a ServerStatus {
    status.servers.iter().find(|server| server.name == name).unwrap()
}

pub fn why(status: &Status, name: &str) -> String {
    match &of(status, name).health {
        Health::Unhealthy(why) => why.clone(),
        other => panic!("{name} is {other:?}"),
    }
}
