//! Event subscriptions: `EventService`.

use http::Method;
use serde_json::{Value, json};

use super::links::link;
use super::service::Service;
use crate::{Error, Result, Subscribed, Subscription};

/// The subscriptions of a service.
pub(super) struct Subscriptions<'a> {
    service: &'a Service,
    /// The path of the collection.
    collection: String,
}

impl<'a> Subscriptions<'a> {
    /// Finds the subscriptions of a service.
    pub(super) async fn of(service: &'a Service) -> Result<Self> {
        let none =
            || service.unsupported("sending events", "the service has no EventService with subscriptions");
        let events = link(service.root().await?, "/EventService").ok_or_else(none)?;
        let events = service.get(&events).await?.body;
        let collection = link(&events, "/Subscriptions").ok_or_else(none)?;
        Ok(Self { service, collection })
    }

    /// Returns all subscriptions; the identifier of each is its path. A subscription that disappears meanwhile is left out.
    pub(super) async fn list(&self) -> Result<Vec<Subscribed>> {
        let known = self.service.get(&self.collection).await?.body;
        let mut found = Vec::new();
        for member in known["Members"].as_array().into_iter().flatten() {
            let Some(path) = link(member, "") else { continue };
            let body = match self.service.get(&path).await {
                Ok(read) => read.body,
                Err(Error::Status { status: 404 | 410, .. }) => continue,
                Err(error) => return Err(error),
            };
            let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
            found.push(Subscribed {
                identifier: path,
                destination: text("Destination"),
                context: text("Context"),
            });
        }
        Ok(found)
    }

    /// Subscribes to alerts, and returns the path of the subscription.
    pub(super) async fn add(&self, subscription: &Subscription) -> Result<String> {
        let mut body = json!({
            "Destination": subscription.destination,
            "Context": subscription.context,
            "Protocol": "Redfish",
            "EventTypes": ["Alert"],
        });
        if !subscription.headers.is_empty() {
            let each = subscription.headers.iter().map(|(name, value)| json!({name: value}));
            body["HttpHeaders"] = Value::Array(each.collect());
        }
        let answer = self.service.send(Method::POST, &self.collection, Some(&body)).await;
        let secrets = || subscription.headers.values();
        let answer = answer.map_err(|error| secrets().fold(error, |error, secret| error.without(secret)))?;
        let path = answer.location.or_else(|| link(&answer.body, "")).ok_or_else(|| Error::Answer {
            call: answer.call.clone(),
            reason: "it does not say where the subscription is".to_owned(),
        })?;
        let found = self.service.get(&path).await?.body;
        if found["Destination"] != subscription.destination.as_str() {
            return Err(Error::NotStored {
                call: answer.call,
                what: "the destination of the subscription".to_owned(),
                wanted: "the one that was written".to_owned(),
                found: "another one".to_owned(),
            });
        }
        Ok(path)
    }
}

/// Ends a subscription; does nothing if it does not exist.
pub(super) async fn end(service: &Service, path: &str) -> Result<()> {
    match service.send(Method::DELETE, path, None).await {
        Ok(_) | Err(Error::Status { status: 404 | 410, .. }) => Ok(()),
        Err(error) => Err(error),
    }
}
