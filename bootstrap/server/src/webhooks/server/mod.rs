//! The HTTP interface of the webhooks.

mod objects;
pub mod reservation;

use std::sync::Arc;

use access::certificate::{Authorities, Validity};
use anyhow::Result;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use bytes::Bytes;
use engine::Manager;
use engine::contract::Contracts;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, Request, StatusCode, Uri};
use http_body_util::BodyExt;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client};
use machinery::clock::Clock;
use machinery::names::{dns1123_label, dns1123_subdomain};
use machinery::status::Status;
use metrics::Limits;
use net::server::{Patience, Peer, Server, Times, Waiting};
use rustls::ServerConfig;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::task::JoinError;

use objects::ClusterObjects;
use reservation::{Memory, Reservation};

use super::names::{CONVERSION, DEFAULTS, RULES};
use super::reviews::{Definitions, Purpose, admission, conversion, scaled};
use crate::admission::ClusterApiAdmission;
use crate::conversion::ClusterApiConversion;
use crate::limits::{
    CONVERSION_BYTES, REVIEW, REVIEW_BYTES, REVIEWS_BYTES, WEBHOOK_CONNECTIONS, WEBHOOK_IDLE, WEBHOOK_STALLED,
};

/// The time of a handshake is that of a review, which an API server waits for.
pub const TIMES: Times = Times {
    head: (WEBHOOK_IDLE, None),
    handshake: (REVIEW, "webhook_handshake"),
    stalled: (Patience::All(WEBHOOK_STALLED), "webhook_stalled"),
};

/// A refusal of a request, for which there is no answer to a review.
type Refusal = (StatusCode, String);

/// What a review asks for, by its path.
#[derive(Debug, Clone, Copy)]
enum Question {
    Admission(Purpose),
    Conversion,
}

/// Answers the reviews of an API server.
pub struct Site {
    definitions: Arc<Definitions>,
    contracts: Contracts,
    rules: ClusterApiAdmission,
    client: Client,
    memory: Memory,
    limits: Limits,
    /// Who signs the certificates of the clients that may ask for admission; `None` if everybody may.
    authorities: Option<Authorities>,
    clock: Clock,
}

impl Site {
    /// Creates the webhooks.
    ///
    /// # Errors
    /// Never, for the built-in definitions.
    pub fn new(
        manager: &Manager,
        rules: ClusterApiAdmission,
        authorities: Option<Authorities>,
    ) -> Result<Self> {
        Ok(Self {
            definitions: Arc::new(Definitions::new(ClusterApiConversion::of(manager.contracts().clone()))?),
            contracts: manager.contracts().clone(),
            rules,
            client: manager.client().clone(),
            memory: Memory::new(REVIEWS_BYTES, CONVERSION_BYTES),
            limits: Limits::of(manager.all_metrics()),
            authorities,
            clock: manager.clock().clone(),
        })
    }

    /// Returns the memory of the reviews.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Returns the server of the webhooks.
    pub fn server(self: &Arc<Self>, tls: ServerConfig, manager: &Manager) -> Server {
        let asked = |question, most| {
            let review = move |State(site): State<Arc<Self>>, request: Request<Body>| async move {
                site.answer(question, most, request).await
            };
            post(review)
        };
        let router = Router::new()
            .route(DEFAULTS, asked(Question::Admission(Purpose::Defaults), REVIEW_BYTES))
            .route(RULES, asked(Question::Admission(Purpose::Rules), REVIEW_BYTES))
            .route(CONVERSION, asked(Question::Conversion, CONVERSION_BYTES))
            .fallback(async |uri: Uri| (StatusCode::NOT_FOUND, format!("no webhook is at {}", uri.path())))
            .method_not_allowed_fallback(async || (StatusCode::METHOD_NOT_ALLOWED, "reviews are posted"))
            .with_state(self.clone());
        let places = Waiting::new(WEBHOOK_CONNECTIONS);
        Server::new(router, Some(Arc::new(tls)), TIMES, places, self.limits.clone(), manager.random())
    }

    /// Answers a request of at most this many bytes.
    async fn answer(&self, question: Question, most: usize, request: Request<Body>) -> Response {
        let answer = match tokio::time::timeout(REVIEW, self.review(question, most, request)).await {
            Ok(answer) => answer,
            Err(_) => {
                self.limits.reached("webhook_review");
                Err((StatusCode::REQUEST_TIMEOUT, format!("no answer after {REVIEW:?}")))
            }
        };
        match answer {
            Ok(review) => ([(CONTENT_TYPE, "application/json")], review).into_response(),
            Err((status, why)) => {
                tracing::debug!(%status, why, "a review is refused");
                (status, why).into_response()
            }
        }
    }

    async fn review(
        &self,
        question: Question,
        most: usize,
        request: Request<Body>,
    ) -> Result<Bytes, Refusal> {
        if matches!(question, Question::Admission(_)) {
            self.check_certificate(request.extensions().get())?;
        }
        if announced(request.headers()).is_some_and(|size| size > most) {
            return Err(self.too_large(most));
        }
        let (body, reservation) = self.read(request.into_body(), most).await?;
        self.reviewed(question, body, reservation).await
    }

    fn check_certificate(&self, peer: Option<&Peer>) -> Result<(), Refusal> {
        let Some(authorities) = &self.authorities else { return Ok(()) };
        let valid = peer.and_then(|peer| {
            Validity::of_chain(peer.certificates.iter().map(|certificate| &**certificate), authorities)
        });
        let why = match valid {
            Some(valid) if valid.is_now(&self.clock) => return Ok(()),
            Some(_) => "the certificate that the client has presented is not valid now",
            None => "the client has presented no certificate of an authority in --webhook-client-ca",
        };
        Err((StatusCode::UNAUTHORIZED, why.to_owned()))
    }

    /// Reads a body of at most this many bytes. Its memory is reserved as it arrives.
    async fn read(&self, mut body: Body, most: usize) -> Result<(Vec<u8>, Reservation), Refusal> {
        let (mut bytes, mut reservation) = (Vec::new(), self.memory.reservation());
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| bad(format!("the body cannot be read: {error}")))?;
            // Trailers say nothing about a review.
            let Ok(data) = frame.into_data() else { continue };
            if bytes.len() + data.len() > most {
                return Err(self.too_large(most));
            }
            reservation.add(data.len()).await.map_err(|error| bad(error.to_string()))?;
            bytes.extend_from_slice(&data);
        }
        Ok((bytes, reservation))
    }

    async fn reviewed(
        &self,
        question: Question,
        body: Vec<u8>,
        reservation: Reservation,
    ) -> Result<Bytes, Refusal> {
        let (decoded, reservation) =
            reservation.blocking(move || machinery::decode::json(&body)).await.map_err(failed)?;
        let review = decoded.map_err(|why| bad(format!("the body is no JSON: {why}")))?.value;
        let object = match question {
            Question::Conversion => {
                // The versions in references follow from the definitions of other kinds.
                self.contracts.definitions().wait_until_synced().await;
                None
            }
            Question::Admission(_) => self.scaled(&review).await,
        };
        let (definitions, rules) = (self.definitions.clone(), self.rules.clone());
        let objects = ClusterObjects {
            client: self.client.clone(),
            contracts: self.contracts.clone(),
            definitions: self.definitions.clone(),
            runtime: Handle::current(),
        };
        let work = move || {
            let answer = match question {
                Question::Conversion => conversion(review, &definitions),
                Question::Admission(purpose) => {
                    admission(purpose, &review, &definitions, &rules, object, &objects)
                }
            };
            answer.map(|answer| answer.to_string())
        };
        let (answer, reservation) = reservation.blocking(work).await.map_err(failed)?;
        Ok(reservation.answer(answer.map_err(bad)?))
    }

    /// Returns the object whose `/scale` is written, with the new number of replicas. The review has only the Scale.
    async fn scaled(&self, review: &Value) -> Option<Result<Value, Status>> {
        let (definition, namespace, name, replicas) = scaled(review, &self.definitions)?;
        // Both become parts of a path, and anybody in the network of Pods may send a review.
        let problems = [dns1123_label(namespace), dns1123_subdomain(name)].concat();
        if !problems.is_empty() {
            return Some(Err(Status::bad_request(format!(
                "request.name, request.namespace: {}",
                problems.join(", ")
            ))));
        }
        let kind = GroupVersionKind::gvk(&definition.group, &definition.storage_version, &definition.kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, &definition.plural);
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), namespace, &resource);
        let found = match api.get(name).await {
            Ok(found) => serde_json::to_value(found).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        Some(match found {
            Ok(mut object) => {
                object["spec"]["replicas"] = replicas.into();
                Ok(object)
            }
            Err(why) => {
                Err(Status::internal(format!("{} {namespace}/{name} cannot be read: {why}", definition.kind)))
            }
        })
    }

    fn too_large(&self, most: usize) -> Refusal {
        self.limits.reached("webhook_review_bytes");
        (StatusCode::PAYLOAD_TOO_LARGE, format!("the review is larger than {most} bytes"))
    }
}

/// Reading, converting and checking run in threads of their own, where a panic ends only this request.
fn failed(_: JoinError) -> Refusal {
    (StatusCode::INTERNAL_SERVER_ERROR, "the review could not be answered".to_owned())
}

fn bad(why: String) -> Refusal {
    (StatusCode::BAD_REQUEST, why)
}

fn announced(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
