//! An API server of one's own: the kind Lamp, and its subresource `switch` in Rust. `cargo run -p firstlight-serving --example embed`
#![allow(clippy::print_stdout, reason = "a program for a terminal")]

use access::authorize::AllowAll;
use futures::future::{BoxFuture, FutureExt};
use http::{HeaderValue, Method, Response, header::CONTENT_TYPE};
use machinery::{clock::Clock, random::Random, status::Status};
use registry::{Context, Input, Options, PatchBody, Registry, Subresource};
use serde_json::json;
use serving::{Body, Connect, ConnectRequest, ConnectResource, Listener, Server};
use store::{Memory, Store};

const SWITCH: ConnectResource = ConnectResource {
    group: "example.com",
    version: "v1",
    resource: "lamps",
    subresource: "switch",
    kind: "Lamp",
    kind_group_version: None,
    methods: &[Method::POST],
};

/// A POST to `lamps/NAME/switch` turns the lamp on, with `?to=off` off.
struct Switch(Registry);

impl Connect for Switch {
    fn connect(&self, request: ConnectRequest) -> BoxFuture<'static, Result<Response<Body>, Status>> {
        let registry = self.0.clone();
        async move {
            let lamps = registry.served("example.com", "v1", "lamps").ok_or_else(Status::no_such_path)?;
            let on = request.query("to").as_deref() != Some("off");
            let patch = PatchBody::Merge(json!({"spec": {"on": on}}).to_string().into());
            let (by, whole) = (&mut Context::internal("switch"), Subresource::None);
            let written = registry.patch(by, &lamps, &request.namespace, &request.name, whole, patch).await?;
            let mut response = Response::new(Body::from(written.object));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            Ok(response)
        }
        .boxed()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (clock, random) = (Clock::system(), Random::system());
    let store = Store::open(Memory::default(), clock.clone()).await?;
    let registry = Registry::open(store, clock.clone(), random, Options::default()).await?;
    let definitions = registry.served("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    let (lamp, definitions) = (serde_json::from_str(include_str!("lamp.json"))?, definitions.ok_or("none")?);
    registry.create(&mut Context::internal("embed"), &definitions, "", Input::new(lamp)).await?;
    let builder = Server::builder(registry.clone(), clock).authorizer(AllowAll);
    let server = builder.connect(SWITCH, Switch(registry)).build();
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:8080".to_owned());
    let tcp = tokio::net::TcpListener::bind(address).await?;
    println!("http://{}", tcp.local_addr()?);
    Listener::new(server, None).serve(tcp, tokio::signal::ctrl_c().map(drop)).await;
    Ok(())
}
