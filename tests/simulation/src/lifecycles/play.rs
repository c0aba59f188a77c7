//! Plays a recording that has the requests of its user, and compares each step.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, bail};
use http::header::CONTENT_TYPE;
use kube::Client;
use serde_json::Value;

use super::recording::{Request, Step};
use super::story::Story;
use super::{compare, order};
use crate::simulation::Life;

/// What a recording must and need not agree with. Steps are named by the beginnings of their names.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rules<'a> {
    /// Steps with the lines that come in this order, there and here.
    pub orders: &'a [(&'a str, &'a str)],
    /// Patterns of differences that are right, and why. Each must be needed.
    pub exceptions: &'a [(&'a str, &'a str)],
    /// Steps at whose end upstream is not at rest, and why. What is at rest here is not compared.
    pub unfinished: &'a [(&'a str, &'a str)],
}

/// Plays a recording.
///
/// Of each step are compared the answers of the server; that each change of a condition, a phase, a version, a reference or an owner, and each
/// creation and deletion happens here, at the latest when it did there; the orders of the rules; and the state at rest.
///
/// # Errors
/// All differences that are no exceptions, exceptions that are not needed, or steps that cannot be taken.
pub async fn play(life: &Life, recording: &str, rules: Rules<'_>) -> Result<()> {
    let story = Story::begin(life, recording)?;
    let mut play = Play {
        client: life.plane.client("user"),
        story,
        rules,
        needed: BTreeSet::new(),
        differences: Vec::new(),
    };
    while play.step().await? {}
    play.end()
}

struct Play<'a> {
    client: Client,
    story: Story,
    rules: Rules<'a>,
    /// The rules that were needed, by their texts.
    needed: BTreeSet<&'a str>,
    differences: Vec<String>,
}

impl<'a> Play<'a> {
    /// Takes a step; returns whether there was one.
    async fn step(&mut self) -> Result<bool> {
        let begun = self.story.objects().clone();
        let Some(step) = self.story.begin_step() else { return Ok(false) };
        for request in &step.requests {
            self.story.pass_until(request.after).await?;
            self.send(&step, request).await.with_context(|| step.name.clone())?;
        }
        self.story.settle().await.with_context(|| step.name.clone())?;
        for missing in compare::missing(&step.lines, self.story.lines(), &begun) {
            let here =
                missing.here.map_or("not".to_owned(), |here| format!("after {:.2} s", here.as_secs_f64()));
            let there = missing.there.as_secs_f64();
            self.differ(&step, &missing.text, &format!("there after {there:.2} s, here {here}"));
        }
        self.orders(&step);
        if !self.is_unfinished(&step) {
            let (theirs, ours) = compare::at_rest(&step.rest, self.story.objects());
            theirs.iter().for_each(|line| self.differ(&step, line, "at rest, only there"));
            ours.iter().for_each(|line| self.differ(&step, line, "at rest, only here"));
        }
        Ok(true)
    }

    fn orders(&mut self, step: &Step) {
        let orders = self.rules.orders.iter().filter(|(name, _)| step.name.starts_with(name));
        for (name, patterns) in orders {
            self.needed.insert(name);
            let recorded = step.lines.iter().map(|line| line.text.as_str());
            if let Some(pattern) = order::missing(patterns, recorded) {
                self.differences.push(format!(
                    "{}: the recording has no such line where it must come: {pattern}",
                    step.name
                ));
            }
            let lines = || self.story.lines().iter().map(|line| line.text.as_str());
            if let Some(pattern) = order::missing(patterns, lines()) {
                let lines = lines().collect::<Vec<_>>().join("\n  ");
                self.differences.push(format!(
                    "{}: here is no such line where it must come: {pattern}\n  {lines}",
                    step.name
                ));
            }
        }
    }

    fn is_unfinished(&mut self, step: &Step) -> bool {
        let found = self.rules.unfinished.iter().find(|(name, _)| step.name.starts_with(name));
        self.needed.extend(found.map(|(name, _)| *name));
        found.is_some()
    }

    /// Records a difference that is no exception.
    fn differ(&mut self, step: &Step, line: &str, how: &str) {
        let exceptions = self.rules.exceptions;
        let mut found = exceptions.iter().filter(|(pattern, _)| order::is_like(pattern, line)).peekable();
        if found.peek().is_none() {
            self.differences.push(format!("{}: {line} ({how})", step.name));
        }
        self.needed.extend(found.map(|(pattern, _)| *pattern));
    }

    /// Sends a request, and compares the answer.
    async fn send(&mut self, step: &Step, request: &Request) -> Result<()> {
        let content = &request.content;
        let there = content["refused"].as_u64();
        let (here, message) = match self.client.request::<Value>(self.http(content)?).await {
            Ok(_) => (None, "accepted".to_owned()),
            Err(kube::Error::Api(status)) => (Some(u64::from(status.code)), status.message.clone()),
            Err(error) => return Err(error.into()),
        };
        if there != here {
            self.differ(step, &format!("answer {here:?}: {message}"), &format!("there {there:?}"));
        }
        Ok(())
    }

    fn http(&self, content: &Value) -> Result<http::Request<Vec<u8>>> {
        let text = |field: &str| content[field].as_str().unwrap_or_default();
        let (kind, body) = (text("kind"), content["body"].to_string().into_bytes());
        let collection =
            format!("/apis/{}/v1beta2/namespaces/default/{}", group(kind), engine::contract::plural(kind));
        let object = format!("{collection}/{}", self.name(kind, text("name")));
        let query = if content["dryRun"] == true { "?dryRun=All" } else { "" };
        let patch = if content["body"].is_array() { "json-patch+json" } else { "merge-patch+json" };
        let request = match text("verb") {
            "POST" => {
                http::Request::post(collection + query).header(CONTENT_TYPE, "application/json").body(body)?
            }
            "PATCH" => http::Request::patch(object + query)
                .header(CONTENT_TYPE, format!("application/{patch}"))
                .body(body)?,
            "DELETE" => http::Request::delete(object + query).body(Vec::new())?,
            verb => bail!("there is no verb {verb:?}"),
        };
        Ok(request)
    }

    /// Returns the name here of an object whose name may have been generated.
    fn name(&self, kind: &str, recorded: &str) -> String {
        let general = compare::general(recorded);
        let names = self.story.names(kind, "");
        let found = names.iter().find(|name| compare::general(name) == general);
        found.map_or(recorded, String::as_str).to_owned()
    }

    fn end(mut self) -> Result<()> {
        let all = [self.rules.orders, self.rules.exceptions, self.rules.unfinished];
        let unneeded =
            all.into_iter().flatten().map(|(text, _)| *text).filter(|text| !self.needed.contains(text));
        self.differences.extend(unneeded.map(|text| format!("this rule is not needed: {text}")));
        if !self.differences.is_empty() {
            bail!("{} differences:\n{}", self.differences.len(), self.differences.join("\n"));
        }
        Ok(())
    }
}

fn group(kind: &str) -> &'static str {
    match kind {
        "DevClusterTemplate" | "DevMachineTemplate" => "infrastructure.cluster.x-k8s.io",
        "KubeadmConfigTemplate" => "bootstrap.cluster.x-k8s.io",
        "KubeadmControlPlaneTemplate" => "controlplane.cluster.x-k8s.io",
        _ => "cluster.x-k8s.io",
    }
}
