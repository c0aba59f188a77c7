//! Calls hooks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::{Manager, Objects};
use k8s_openapi::api::core::v1::Namespace;
use schemas::runtime::ExtensionConfig;
use serde_json::{Map, Value, json};

use crate::address;
use crate::answer_cache::{self, AnswerCache, Key};
use crate::answers::{self, Answer, Discovered, SUCCESS};
use crate::caller::{Call, Caller, Reply};
use crate::error::{Error, Result};
use crate::handlers::{self, Registered};
use crate::hooks::Hook;
use crate::limits::QUOTED_CHARACTERS;
use crate::metrics::Metrics;
use crate::names::{DEFAULT_TIMEOUT_SECONDS, HOOKS_VERSION};

/// Calls the extensions of a management cluster. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    manager: Manager,
    caller: Arc<dyn Caller>,
    answers: Arc<AnswerCache>,
    metrics: Metrics,
}

/// A request to an extension.
struct Outgoing<'a> {
    config: &'a ExtensionConfig,
    hook: Hook,
    /// The handler; `None` for discovery.
    handler: Option<&'a Registered>,
    body: Vec<u8>,
}

impl Client {
    /// Creates a client of the extensions that the ExtensionConfigs of this management cluster describe.
    pub fn new(manager: &Manager, caller: Arc<dyn Caller>) -> Self {
        let metrics = Metrics::of(manager.all_metrics());
        Self { manager: manager.clone(), caller, answers: Arc::new(answer_cache::none()), metrics }
    }

    /// Asks an extension which handlers it has.
    ///
    /// # Errors
    /// Why there is no answer, or that it is a failure.
    pub async fn discover(&self, config: &ExtensionConfig) -> Result<Discovered> {
        let hook = Hook::Discovery;
        let body = json!({"apiVersion": HOOKS_VERSION, "kind": "DiscoveryRequest"}).to_string().into_bytes();
        let outgoing = Outgoing { config, hook, handler: None, body };
        let (answer, body) = self.exchange(&outgoing).await?;
        outgoing.check(&answer)?;
        answers::parse(&body).map_err(|why| outgoing.no_answer(why))
    }

    /// Returns the names of the handlers of a hook for objects of this namespace, in the order in which they are called.
    ///
    /// # Errors
    /// The namespace does not exist, and an ExtensionConfig selects namespaces.
    pub async fn handlers(&self, hook: Hook, namespace: &str) -> Result<Vec<String>> {
        let selected = self.selected(hook, namespace).await?;
        Ok(selected.into_iter().map(|registered| registered.handler.name).collect())
    }

    /// Returns the only handler of a hook for objects of this namespace; `None` if there is none. Updates in place can have one.
    ///
    /// # Errors
    /// There are several, or the errors of [`Client::handlers`].
    pub async fn only_handler(&self, hook: Hook, namespace: &str) -> Result<Option<String>> {
        let mut handlers = self.handlers(hook, namespace).await?;
        if handlers.len() > 1 {
            return Err(Error::Several { hook: hook.name(), handlers });
        }
        Ok(handlers.pop())
    }

    /// Calls all handlers of a hook for an object of this namespace, one after the other. Their messages are joined, and the earliest time to
    /// ask again counts.
    ///
    /// # Errors
    /// The first failure; no further handler is called.
    pub async fn call_all(&self, hook: Hook, namespace: &str, request: &Value) -> Result<Answer> {
        let (mut messages, mut retry_after) = (Vec::new(), None::<Duration>);
        for registered in self.selected(hook, namespace).await? {
            let (answer, _) = self.call_handler(hook, &registered, &BTreeMap::new(), request).await?;
            messages.extend(Some(answer.message).filter(|message| !message.is_empty()));
            retry_after = [retry_after, answer.retry_after].into_iter().flatten().min();
        }
        Ok(Answer { status: SUCCESS.to_owned(), message: messages.join(", "), retry_after })
    }

    /// Calls one handler for an object of this namespace, with settings that win over those of its ExtensionConfig. Returns the whole answer
    /// with its status, without fields that an answer to this hook does not have.
    ///
    /// # Errors
    /// The handler is not registered for this hook and namespace, or has failed.
    pub async fn call(
        &self,
        hook: Hook,
        name: &str,
        namespace: &str,
        settings: &BTreeMap<String, String>,
        request: &Value,
    ) -> Result<Value> {
        self.configs().wait_until_synced().await;
        let registered = handlers::named(&self.configs(), hook, name)?;
        if !handlers::selects(&registered.config, || self.namespaces(), namespace).await? {
            let config = registered.config.metadata.name.clone().unwrap_or_default();
            return Err(Error::NotSelected { config, namespace: namespace.to_owned() });
        }
        let (answer, mut content) = self.call_handler(hook, &registered, settings, request).await?;
        content["status"] = answer.status.into();
        content["message"] = answer.message.into();
        if hook.can_block() {
            content["retryAfterSeconds"] = answer.retry_after.unwrap_or_default().as_secs().into();
        }
        Ok(content)
    }

    /// Returns whether the feature gate of extensions is on. If it is off, their kind may not even be installed.
    pub(crate) fn uses_extensions(&self) -> bool {
        self.manager.features().runtime_sdk
    }

    fn configs(&self) -> Objects<ExtensionConfig> {
        self.manager.objects()
    }

    fn namespaces(&self) -> Objects<Namespace> {
        self.manager.objects()
    }

    async fn selected(&self, hook: Hook, namespace: &str) -> Result<Vec<Registered>> {
        let configs = self.configs();
        // A hook must not be left out because its ExtensionConfig has not been read yet.
        configs.wait_until_synced().await;
        let mut selected = Vec::new();
        for registered in handlers::of_hook(&configs.all(), hook) {
            if handlers::selects(&registered.config, || self.namespaces(), namespace).await? {
                selected.push(registered);
            }
        }
        Ok(selected)
    }

    /// Calls a handler. Returns the answer, and what only an answer to this hook has.
    async fn call_handler(
        &self,
        hook: Hook,
        registered: &Registered,
        settings: &BTreeMap<String, String>,
        request: &Value,
    ) -> Result<(Answer, Value)> {
        let body = with_settings(hook, registered, settings, request);
        let (key, now) = (Key::of(hook, registered, &body), self.manager.clock().monotonic());
        if let Some(content) = key.as_ref().and_then(|key| self.answers.get(key, now)) {
            return Ok((Answer { status: SUCCESS.to_owned(), ..Answer::default() }, content));
        }
        let outgoing = Outgoing { config: &registered.config, hook, handler: Some(registered), body };
        let exchanged = self.exchange(&outgoing).await.and_then(|(answer, body)| {
            // The content of a failure does not count.
            let content =
                if answer.status == SUCCESS { answers::content(hook, &body) } else { Ok(json!({})) };
            Ok((answer, content.map_err(|why| outgoing.no_answer(why))?))
        });
        let (answer, content) = match exchanged {
            Err(error @ Error::NoAnswer { .. }) if registered.may_fail() => {
                tracing::warn!(%error, "the failure of a runtime extension is ignored, as its failurePolicy says");
                let nothing = answers::content(hook, b"{}").map_err(|why| outgoing.no_answer(why))?;
                return Ok((Answer { status: SUCCESS.to_owned(), ..Answer::default() }, nothing));
            }
            exchanged => exchanged?,
        };
        outgoing.check(&answer)?;
        if let Some(key) = key {
            self.answers.keep(key, content.clone(), now);
        }
        Ok((answer, content))
    }

    /// Sends a request, and reads what every answer has.
    async fn exchange(&self, outgoing: &Outgoing<'_>) -> Result<(Answer, Bytes)> {
        let call = outgoing.call()?;
        let (url, clock) = (call.url.clone(), self.manager.clock());
        let start = clock.monotonic();
        let reply = self.caller.post(call).await;
        let took = clock.monotonic() - start;
        let code = reply.as_ref().ok().map(|reply| reply.code);
        let answered = reply.and_then(|reply| {
            if reply.code != 200 {
                return Err(unsuccessful(&reply));
            }
            Ok((answers::read(outgoing.hook, &reply.body)?, reply.body))
        });
        let status = answered.as_ref().map(|(answer, _)| answer.status.as_str()).unwrap_or_default();
        self.metrics.count(outgoing.hook, &url, code, status, took);
        answered.map_err(|why| outgoing.no_answer(why))
    }
}

impl Outgoing<'_> {
    /// Returns the request for the HTTPS client.
    fn call(&self) -> Result<Call> {
        let client_config = &self.config.spec.client_config;
        let wrong = |why| {
            let config = self.config.metadata.name.clone().unwrap_or_default();
            Error::Address { config, why }
        };
        let seconds = self.handler.map_or(DEFAULT_TIMEOUT_SECONDS, Registered::timeout_seconds);
        let name = self.handler.map(Registered::own_name);
        Ok(Call {
            url: address::url(client_config, self.hook, name, seconds).map_err(wrong)?,
            authority: address::authority(client_config).map_err(wrong)?,
            timeout: Duration::from_secs(u64::from(seconds.unsigned_abs())),
            body: Bytes::from(self.body.clone()),
        })
    }

    fn extension(&self) -> String {
        match self.handler {
            Some(registered) => registered.handler.name.clone(),
            None => self.config.metadata.name.clone().unwrap_or_default(),
        }
    }

    fn no_answer(&self, why: String) -> Error {
        Error::NoAnswer { hook: self.hook.name(), extension: self.extension(), why }
    }

    /// Returns the failure that the answer reports.
    fn check(&self, answer: &Answer) -> Result<()> {
        if answer.status == SUCCESS {
            return Ok(());
        }
        let (status, message) = (answer.status.clone(), answer.message.clone());
        Err(Error::Failure { hook: self.hook.name(), extension: self.extension(), status, message })
    }
}

/// Returns the JSON of a request: with its kind, and with settings. Those of the request win over `settings`, and these over those of the
/// ExtensionConfig.
fn with_settings(
    hook: Hook,
    registered: &Registered,
    settings: &BTreeMap<String, String>,
    request: &Value,
) -> Vec<u8> {
    let mut all: Map<String, Value> = Map::new();
    let texts = registered.config.spec.settings.iter().chain(settings);
    all.extend(texts.map(|(name, value)| (name.clone(), value.as_str().into())));
    all.extend(request["settings"].as_object().cloned().unwrap_or_default());
    let mut request = request.as_object().cloned().unwrap_or_default();
    request.insert("apiVersion".to_owned(), HOOKS_VERSION.into());
    request.insert("kind".to_owned(), format!("{}Request", hook.name()).into());
    request.remove("settings");
    if !all.is_empty() {
        request.insert("settings".to_owned(), all.into());
    }
    Value::Object(request).to_string().into_bytes()
}

/// Describes an answer that is no success, also a redirect.
fn unsuccessful(reply: &Reply) -> String {
    // A character has at most four bytes.
    let start = &reply.body[..reply.body.len().min(4 * QUOTED_CHARACTERS)];
    let text = String::from_utf8_lossy(start);
    let quoted: String = text.chars().take(QUOTED_CHARACTERS).collect();
    let more = if quoted.len() < reply.body.len() { "..." } else { "" };
    format!("the answer has the status code {}, not 200: {:?}", reply.code, format!("{quoted}{more}"))
}
