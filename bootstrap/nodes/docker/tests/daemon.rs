//! A daemon at a UNIX socket that keeps containers, networks and images in memory, and answers as Docker 20.10 did where it was recorded.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use http::{Request, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;
use tokio::task::JoinHandle;

/// A call that was made.
#[derive(Clone, Debug)]
pub struct Call {
    pub method: String,
    /// Without the version.
    pub path: String,
    pub query: BTreeMap<String, String>,
    pub body: Bytes,
    pub login: Option<String>,
}

impl Call {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// What the daemon has.
#[derive(Default)]
pub struct State {
    pub version: Value,
    pub info: Value,
    pub containers: BTreeMap<String, Value>,
    pub networks: BTreeMap<String, Value>,
    pub images: BTreeMap<String, Value>,
    /// Files of images: by path.
    pub files: BTreeMap<String, Vec<u8>>,
    /// What a pull answers, and which image is there afterwards.
    pub pull: String,
    pub pulls: Option<String>,
    /// The image whose pull does not end.
    pub hangs: Option<String>,
    /// Somebody removes the container whose files are read.
    pub vanishes: bool,
    /// The image that is there after an archive was loaded.
    pub loads: Option<String>,
    pub console: Vec<u8>,
    /// Frames that programs write, and their exit codes. `echo` writes what it reads, `long` is killed after a while, as by `timeout`.
    pub program: String,
    pub code: i32,
    /// How often the daemon says that a program still runs whose streams have ended.
    pub late: u32,
    pub calls: Vec<Call>,
    /// Answers to the next call that begins so, with a status and a message.
    pub refuse: Vec<(String, u16, String)>,
    execs: u32,
    programs: Vec<JoinHandle<()>>,
}

/// A daemon that runs until it is dropped.
pub struct Daemon {
    pub socket: PathBuf,
    pub state: Arc<Mutex<State>>,
    task: Option<JoinHandle<()>>,
}

impl Daemon {
    pub fn start(folder: &Path) -> Self {
        let state = State {
            version: json!({"Version": "20.10.24", "ApiVersion": "1.41", "MinAPIVersion": "1.12",
                "Components": [{"Name": "Engine", "Version": "20.10.24"}]}),
            info: json!({"ServerVersion": "20.10.24", "Driver": "overlay2", "CgroupVersion": "2",
                "DefaultRuntime": "runc", "SecurityOptions": ["name=seccomp,profile=default"]}),
            images: BTreeMap::from([("kindest/node:v1.36.2".to_owned(), node_image())]),
            files: files(),
            ..State::default()
        };
        let mut daemon =
            Self { socket: folder.join("docker.sock"), state: Arc::new(Mutex::new(state)), task: None };
        daemon.come_back();
        daemon
    }

    /// Ends the daemon as a kill does: its socket stays, and nobody listens.
    pub async fn go_away(&mut self) {
        let task = self.task.take().unwrap();
        task.abort();
        drop(task.await);
        self.state.lock().programs.drain(..).for_each(|program| program.abort());
    }

    pub fn come_back(&mut self) {
        std::fs::remove_file(&self.socket).ok();
        let listener = UnixListener::bind(&self.socket).unwrap();
        let state = self.state.clone();
        self.task = Some(tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let state = state.clone();
                let service = service_fn(move |request| answer(state.clone(), request));
                let served = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .with_upgrades();
                connections.spawn(served);
            }
        }));
    }

    /// Returns the calls that were made so far, without those that look at something.
    pub fn changes(&self) -> Vec<String> {
        let state = self.state.lock();
        let changes = state.calls.iter().filter(|call| call.method != "GET" && call.method != "HEAD");
        changes.map(|call| format!("{} {}", call.method, call.path)).collect()
    }

    pub fn last(&self, method: &str, path: &str) -> Call {
        let state = self.state.lock();
        let found = state.calls.iter().rfind(|call| call.method == method && call.path == path);
        found.unwrap_or_else(|| panic!("{method} {path} was not called: {:#?}", state.calls)).clone()
    }
}

/// The files of kind's images, by path.
fn files() -> BTreeMap<String, Vec<u8>> {
    let programs = ["/usr/bin/kubeadm", "/usr/bin/kubelet"].into_iter();
    let of_containerd = ["containerd", "ctr", "crictl"].map(|name| format!("/usr/local/bin/{name}"));
    let programs = programs.map(str::to_owned).chain(of_containerd);
    let programs = programs.map(|path| (path, b"program".to_vec()));
    programs.chain([("/kind/version".to_owned(), b"v1.36.2\n".to_vec())]).collect()
}

pub fn node_image() -> Value {
    json!({
        "Id": "sha256:0123", "Architecture": bundle::architecture(), "Config": {
            "Entrypoint": ["/usr/local/bin/entrypoint", "/sbin/init"], "Env": ["PATH=/usr/bin:/usr/local/bin"],
        },
    })
}

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

fn json_answer(status: u16, value: &Value) -> Answer {
    text_answer(status, value.to_string().into_bytes())
}

fn text_answer(status: u16, text: Vec<u8>) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(text)).boxed_unsync());
    *answer.status_mut() = StatusCode::from_u16(status).unwrap();
    answer
}

/// Says this, and nothing more.
fn without_end(text: String) -> Answer {
    let said = futures::stream::iter([Ok(Frame::data(Bytes::from(text)))]);
    Response::new(StreamBody::new(said.chain(futures::stream::pending())).boxed_unsync())
}

fn refusal(status: u16, message: &str) -> Answer {
    json_answer(status, &json!({"message": message}))
}

async fn answer(state: Arc<Mutex<State>>, mut request: Request<Incoming>) -> hyper::Result<Answer> {
    let path = request.uri().path().to_owned();
    let path = match path.strip_prefix("/v1.") {
        Some(rest) => format!("/{}", rest.split_once('/').unwrap().1),
        None => path,
    };
    let query = request.uri().query().unwrap_or_default();
    let decode = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8().unwrap().into_owned();
    let query = query.split('&').filter_map(|pair| pair.split_once('='));
    let query = query.map(|(key, value)| (key.to_owned(), decode(value))).collect();
    let login = request.headers().get("X-Registry-Auth");
    let login = login.map(|login| login.to_str().unwrap().to_owned());
    let upgrade = request.headers().contains_key(header::UPGRADE).then(|| hyper::upgrade::on(&mut request));
    let method = request.method().to_string();
    let body = request.into_body().collect().await?.to_bytes();
    let call = Call { method, path, query, body, login };
    let mut locked = state.lock();
    locked.calls.push(call.clone());
    let what = format!("{} {}", call.method, call.path);
    if let Some(at) = locked.refuse.iter().position(|(start, ..)| what.starts_with(start)) {
        let (_, status, message) = locked.refuse.remove(at);
        return Ok(refusal(status, &message));
    }
    if let Some(upgrade) = upgrade {
        let program = locked.program.clone();
        locked.programs.push(tokio::spawn(async move {
            let Ok(upgraded) = upgrade.await else { return };
            run(TokioIo::new(upgraded), &program).await;
        }));
        let mut switched = text_answer(101, Vec::new());
        switched.headers_mut().insert(header::CONNECTION, "Upgrade".parse().unwrap());
        switched.headers_mut().insert(header::UPGRADE, "tcp".parse().unwrap());
        return Ok(switched);
    }
    Ok(locked.answer(&call))
}

/// Writes frames: `1:text` and `2:text`, one in each line.
async fn run(mut stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin, program: &str) {
    let frame = |kind: u8, text: &[u8]| {
        let mut frame = vec![kind, 0, 0, 0];
        frame.extend(u32::try_from(text.len()).unwrap().to_be_bytes());
        frame.extend(text);
        frame
    };
    match program {
        "long" => tokio::time::sleep(Duration::from_secs(2)).await,
        "echo" => {
            let mut input = Vec::new();
            stream.read_to_end(&mut input).await.ok();
            stream.write_all(&frame(1, &input)).await.ok();
        }
        "half" => {
            stream.write_all(&frame(1, b"not everything")[..12]).await.ok();
        }
        lines => {
            for line in lines.lines() {
                let (kind, text) = line.split_once(':').unwrap();
                stream.write_all(&frame(kind.parse().unwrap(), text.as_bytes())).await.ok();
            }
        }
    }
    stream.shutdown().await.ok();
}

impl State {
    fn answer(&mut self, call: &Call) -> Answer {
        let parts: Vec<&str> = call.path.trim_start_matches('/').split('/').collect();
        match (call.method.as_str(), parts.as_slice()) {
            ("GET", ["version"]) => json_answer(200, &self.version),
            ("GET", ["info"]) => json_answer(200, &self.info),
            (_, ["networks", ..]) => self.network(call, &parts[1..]),
            (_, ["containers", ..]) => self.container(call, &parts[1..]),
            ("POST", ["libpod", "containers", "create"]) => {
                let body = call.json();
                let name = body["name"].as_str().unwrap().to_owned();
                let of_docker = json!({
                    "Image": body["image"], "Labels": body["labels"], "HostConfig": {"Privileged": true},
                });
                self.create_named(&name, &of_docker)
            }
            ("GET", ["exec", _, "json"]) => {
                let running = self.late > 0;
                self.late = self.late.saturating_sub(1);
                let code = if running { Value::Null } else { json!(self.code) };
                json_answer(200, &json!({"Running": running, "ExitCode": code}))
            }
            (_, ["images", ..]) => self.image(call),
            _ => refusal(404, "page not found"),
        }
    }

    fn network(&mut self, call: &Call, parts: &[&str]) -> Answer {
        match (call.method.as_str(), parts) {
            ("POST", ["create"]) => {
                let mut network = call.json();
                let name = network["Name"].as_str().unwrap().to_owned();
                network["Id"] = json!(format!("id-{name}"));
                if network["IPAM"].is_null() {
                    network["IPAM"] =
                        json!({"Config": [{"Subnet": "172.18.0.0/16", "Gateway": "172.18.0.1"}]});
                }
                self.networks.insert(name.clone(), network);
                json_answer(201, &json!({"Id": format!("id-{name}"), "Warning": ""}))
            }
            (method, [name]) => {
                let name = name.trim_start_matches("id-");
                let found = if method == "DELETE" {
                    self.networks.remove(name)
                } else {
                    self.networks.get(name).cloned()
                };
                found.map_or_else(
                    || refusal(404, &format!("network {name} not found")),
                    |network| json_answer(200, &network),
                )
            }
            _ => refusal(404, "page not found"),
        }
    }

    fn container(&mut self, call: &Call, parts: &[&str]) -> Answer {
        match (call.method.as_str(), parts) {
            ("GET", ["json"]) => self.list(call),
            ("POST", ["create"]) => self.create(call),
            (method, [name, rest @ ..]) => {
                let name = name.trim_start_matches("id-").to_owned();
                if !self.containers.contains_key(&name) {
                    return refusal(404, &format!("No such container: {name}"));
                }
                self.existing(method, &name, rest, call)
            }
            _ => refusal(404, "page not found"),
        }
    }

    fn existing(&mut self, method: &str, name: &str, rest: &[&str], call: &Call) -> Answer {
        let container = self.containers.get_mut(name).unwrap();
        let status = container["State"]["Status"].as_str().unwrap().to_owned();
        let runs = status == "running" || status == "paused";
        let mut become_ = |status: &str, code: i32| {
            container["State"]["Status"] = json!(status);
            container["State"]["Paused"] = json!(status == "paused");
            container["State"]["ExitCode"] = json!(code);
            container["State"]["Pid"] = json!(if status == "running" { 4711 } else { 0 });
            text_answer(204, Vec::new())
        };
        match (method, rest) {
            ("GET", ["json"]) => json_answer(200, container),
            ("POST", ["start"]) if runs => text_answer(304, Vec::new()),
            ("POST", ["start"]) => {
                let network = container["HostConfig"]["NetworkMode"].as_str().unwrap().to_owned();
                let endpoint = &container["NetworkingConfig"]["EndpointsConfig"][&network];
                let address = endpoint["IPAMConfig"]["IPv4Address"].clone();
                container["NetworkSettings"] = json!({"Networks": {network: {"IPAddress": address}}});
                container["State"]["StartedAt"] = json!("2026-11-29T18:00:00.5Z");
                let container = self.containers.get_mut(name).unwrap();
                container["State"]["Status"] = json!("running");
                container["State"]["Pid"] = json!(4711);
                text_answer(204, Vec::new())
            }
            ("POST", ["pause"]) => become_("paused", 0),
            ("POST", ["unpause"]) => become_("running", 0),
            ("POST", ["stop"]) => become_("exited", 0),
            ("POST", ["kill"]) if !runs => refusal(409, "Container is not running"),
            ("POST", ["kill"]) => become_("exited", 137),
            ("POST", ["wait"]) => json_answer(200, &json!({"StatusCode": 137})),
            ("DELETE", []) => {
                self.containers.remove(name);
                text_answer(204, Vec::new())
            }
            ("POST", ["exec"]) if status != "running" => {
                refusal(409, &format!("Container {name} is not running"))
            }
            ("POST", ["exec"]) => {
                self.execs += 1;
                json_answer(201, &json!({"Id": format!("exec-{}", self.execs)}))
            }
            ("GET", ["logs"]) => text_answer(200, self.console.clone()),
            (_, ["archive"]) if self.vanishes => {
                self.containers.remove(name);
                refusal(404, &format!("No such container: {name}"))
            }
            (_, ["archive"]) => self.file(call),
            _ => refusal(404, "page not found"),
        }
    }

    fn list(&self, call: &Call) -> Answer {
        let filters: Value = serde_json::from_str(&call.query["filters"]).unwrap();
        let is_wanted = |container: &&Value| {
            let labels = filters["label"].as_array().into_iter().flatten().all(|label| {
                let (key, value) = label
                    .as_str()
                    .unwrap()
                    .split_once('=')
                    .map_or((label.as_str().unwrap(), None), |(k, v)| (k, Some(v)));
                let found = container["Config"]["Labels"][key].as_str();
                found.is_some_and(|found| value.is_none_or(|value| value == found))
            });
            let network = filters["network"][0].as_str();
            labels && network.is_none_or(|network| container["HostConfig"]["NetworkMode"] == *network)
        };
        let found = self.containers.values().filter(is_wanted);
        let found: Vec<Value> =
            found.map(|found| json!({"Id": found["Id"], "Labels": found["Config"]["Labels"]})).collect();
        json_answer(200, &json!(found))
    }

    fn create(&mut self, call: &Call) -> Answer {
        let name = call.query.get("name").map_or("without-name", String::as_str);
        self.create_named(name, &call.json())
    }

    fn create_named(&mut self, name: &str, body: &Value) -> Answer {
        if self.containers.contains_key(name) {
            return refusal(409, &format!("The container name \"/{name}\" is already in use"));
        }
        let image = body["Image"].as_str().unwrap();
        let is_there = |known: (&String, &Value)| known.0 == image || known.1["Id"] == *image;
        if !self.images.iter().any(is_there) {
            return refusal(404, &format!("No such image: {image}"));
        }
        let id = format!("id-{name}");
        let container = json!({
            "Id": id, "Name": format!("/{name}"), "Created": "2026-11-29T17:59:59.123456789Z",
            "State": {"Status": "created", "Paused": false, "Pid": 0, "ExitCode": 0, "Error": "", "StartedAt": "0001-01-01T00:00:00Z"},
            "Config": body, "HostConfig": body["HostConfig"],
            "NetworkingConfig": body["NetworkingConfig"], "NetworkSettings": {"Networks": {}},
        });
        self.containers.insert(name.to_owned(), container);
        json_answer(201, &json!({"Id": id, "Warnings": []}))
    }

    fn file(&self, call: &Call) -> Answer {
        let path = &call.query["path"];
        let Some(content) = self.files.get(path) else {
            return refusal(404, &format!("Could not find the file {path} in container"));
        };
        let mut archive = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, path.trim_start_matches('/'), content.as_slice()).unwrap();
        text_answer(200, if call.method == "HEAD" { Vec::new() } else { archive.into_inner().unwrap() })
    }

    fn image(&mut self, call: &Call) -> Answer {
        let rest = call.path.trim_start_matches("/images/");
        match (call.method.as_str(), rest) {
            ("POST", "load") => {
                self.images.extend(self.loads.take().map(|name| (name, node_image())));
                json_answer(200, &json!({"stream": "Loaded image"}))
            }
            ("POST", "create") if call.query.contains_key("fromSrc") => {
                self.images.insert(call.query["repo"].clone(), node_image());
                json_answer(200, &json!({"status": "sha256:0123"}))
            }
            ("POST", "create")
                if self.hangs.as_ref().is_some_and(|name| call.query["fromImage"].ends_with(name)) =>
            {
                without_end(self.pull.clone())
            }
            ("POST", "create") => {
                self.images.extend(self.pulls.take().map(|name| (name, node_image())));
                text_answer(200, self.pull.clone().into_bytes())
            }
            ("GET", "get") => text_answer(200, b"an archive".to_vec()),
            ("DELETE", name) => match self.images.remove(name) {
                Some(_) => json_answer(200, &json!([{"Untagged": name}])),
                None => refusal(404, &format!("No such image: {name}")),
            },
            (_, name) => match self.images.get(name.trim_end_matches("/json")) {
                Some(found) => json_answer(200, found),
                None => refusal(404, &format!("No such image: {name}")),
            },
        }
    }
}
