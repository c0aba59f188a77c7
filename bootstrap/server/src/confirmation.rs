//! What the controllers of a server have not confirmed since it started, for commands that wait for its clusters.
//!
//! The server keeps it in memory ([`engine::startup`]) and answers two paths, which administrators may read, and users whose roles name them.
//! Where other programs are the controllers, the server has nothing to say, and the status of the objects alone counts.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use engine::startup::{Report, Startup};
use futures::FutureExt;
use futures::future::BoxFuture;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response};
use kube::Client;
use machinery::status::Status;
use serving::{Body, PathRequest};

/// The path at which the server says what is not confirmed.
pub const CONTROLLERS_PATH: &str = "/controllers";
/// The path whose answer comes when everything is confirmed, or else after ten seconds.
pub const CONFIRMED_PATH: &str = "/controllers/confirmed";

/// The longest time for which an answer of [`CONFIRMED_PATH`] is held back.
const HELD_MAX: Duration = Duration::from_secs(10);

/// The controllers of a process. They start after its server.
pub type Controllers = Arc<OnceLock<Arc<Startup>>>;

type Answer = BoxFuture<'static, Result<Response<Body>, Status>>;

/// Answers [`CONTROLLERS_PATH`].
pub fn answer(controllers: Controllers) -> impl Fn(PathRequest) -> Answer + Send + Sync {
    move |_| futures::future::ready(response(&report(&controllers))).boxed()
}

/// Answers [`CONFIRMED_PATH`].
pub fn held_answer(controllers: Controllers) -> impl Fn(PathRequest) -> Answer + Send + Sync {
    move |_| {
        let controllers = controllers.clone();
        async move {
            if let Some(startup) = controllers.get() {
                // After this time the answer says what is left.
                let _ = tokio::time::timeout(HELD_MAX, startup.wait_until_confirmed()).await;
            }
            response(&report(&controllers))
        }
        .boxed()
    }
}

fn report(controllers: &Controllers) -> Report {
    // Nothing is confirmed before the controllers have started.
    controllers.get().map_or(Report { more: 1, ..Report::default() }, |startup| startup.report())
}

fn response(report: &Report) -> Result<Response<Body>, Status> {
    let text = serde_json::to_string(report).map_err(|error| Status::internal(error.to_string()))?;
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

/// Asks a server at `path`. A server that does not have the path, or does not show it to this user, confirms everything: then only the status
/// of the objects is known.
///
/// # Errors
/// The server does not answer.
pub async fn ask(client: &Client, path: &str) -> kube::Result<Report> {
    let request = http::Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
    match client.request(request).await {
        Err(kube::Error::Api(status)) if matches!(status.code, 401 | 403 | 404) => Ok(Report::default()),
        report => report,
    }
}
