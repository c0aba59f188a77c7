//! The containers of the host.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use chrono::{DateTime, TimeDelta, Utc};
use futures::FutureExt;
use futures::future::BoxFuture;
use node_bootstrap::Place;
use system_containers::{Container, Exec, Exit, Finding, Runtime, Spec, State};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{Contents, Ends, Host, Machine};

/// What a node says of a bootstrap: the journal of its steps, and whether it still runs.
fn report(journal: &str, life: &str) -> String {
    let section = |name: &str, text: &str| format!("{name} {}\n{text}\n", text.len());
    let rest = [section("warnings", ""), section("stdout", ""), section("stderr", "no route to host")];
    format!("runner {life} 2\n{}{}", section("journal", journal), rest.concat())
}

fn status(machine: &Machine, ends: Ends) -> String {
    match (machine.begun, ends) {
        (0, _) => "runner none 0\n".to_owned(),
        (_, Ends::Completed) => report("begin 1 kubeadm join\nend 1 0\ndone\n", "dead"),
        (_, Ends::Failed) => report("begin 1 prepare\nend 1 0\nbegin 2 kubeadm join\nend 2 3\n", "dead"),
        (_, Ends::TimedOut) => report("begin 1 prepare\nend 1 0\nbegin 2 sleep 40\ntimeout 2\n", "dead"),
        (_, Ends::Never | Ends::Silent) => {
            report("begin 1 kubeadm join\n", if machine.killed { "dead" } else { "alive" })
        }
    }
}

impl Host {
    async fn run(&self, name: &str, command: &[String], input: Vec<u8>) -> Result<(i32, String)> {
        self.with(|contents| contents.running(name).map(drop))?;
        let words = command.join(" ");
        let is_silent = |it: &mut Contents| it.ends(name) == Ends::Silent && it.machines[name].begun > 0;
        if self.with(is_silent) {
            std::future::pending::<()>().await;
        }
        if command == node_bootstrap::status_command(&Place::default()) {
            let (machine, ends) =
                self.with(|contents| contents.running(name).map(|it| (it.clone(), contents.ends(name))))?;
            if machine.begun > 0 && ends == Ends::Completed {
                self.join(&machine).await?;
            }
            return Ok((0, status(&machine, ends)));
        }
        if words.contains("systemctl --quiet is-active") {
            return Ok((0, String::new()));
        }
        if let ["mkdir" | "rm", .., path] = command.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            let what = format!("{} {path} in {name}", command[0]);
            return self.change(what, |_| Ok((0, String::new()))).await;
        }
        let text = String::from_utf8_lossy(&input).into_owned();
        let is_begun = words.starts_with("setsid");
        let is_delivered = words.contains("the script did not arrive as a whole");
        let is_import = words.starts_with("ctr --namespace=k8s.io images import");
        let is_end = command == node_bootstrap::end_command(&Place::default());
        ensure!(is_begun || is_delivered || is_import || is_end, "nobody answers {words}");
        let what = match () {
            () if is_begun => "begin",
            () if is_delivered => "deliver",
            () if is_end => "end",
            () => "import",
        };
        let done = self.change(format!("{what} {name}"), |contents| {
            let machine = contents.machines.get_mut(name).unwrap();
            match what {
                "begin" => machine.begun += 1,
                "deliver" => machine.script = Some(text),
                "end" => machine.killed = true,
                _ => machine.imported += 1,
            }
            Ok((0, String::new()))
        });
        done.await
    }
}

fn time(number: usize) -> DateTime<Utc> {
    DateTime::from_timestamp(1_900_000_000, 0).unwrap()
        + TimeDelta::seconds(i64::try_from(number).unwrap_or_default())
}

impl Runtime for Host {
    fn preflight(&self) -> BoxFuture<'_, Result<Vec<Finding>>> {
        async { Ok(Vec::new()) }.boxed()
    }

    fn create<'a>(&'a self, spec: &'a Spec) -> BoxFuture<'a, Result<Container>> {
        let created = self.change(format!("create {}", spec.name), move |contents| {
            contents.answers()?;
            ensure!(!contents.machines.contains_key(&spec.name), "there is a container {}", spec.name);
            spec.check()?;
            let container = Container {
                name: spec.name.clone(),
                labels: spec.labels.clone(),
                image: spec.image.clone(),
                address: contents.address(),
                state: State::Created,
                pid: None,
                created: time(contents.created.len()),
                started: None,
            };
            contents.created.push(spec.name.clone());
            let machine =
                Machine { container: container.clone(), script: None, begun: 0, imported: 0, killed: false };
            contents.machines.insert(spec.name.clone(), machine);
            Ok(container)
        });
        created.boxed()
    }

    fn start<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Container>> {
        let started = self.change(format!("start {name}"), move |contents| {
            contents.answers()?;
            let image = contents.machines.get(name).map(|machine| machine.container.image.clone());
            ensure!(
                !image.is_some_and(|image| contents.broken.contains(&image)),
                "its init has ended with status 1"
            );
            let number = contents.changes.len();
            let Some(machine) = contents.machines.get_mut(name) else {
                bail!("there is no container {name}")
            };
            let container = &mut machine.container;
            if container.state != State::Running {
                (container.state, container.pid) = (State::Running, Some(1));
                container.started = Some(time(number));
            }
            Ok(container.clone())
        });
        started.boxed()
    }

    fn list<'a>(&'a self, labels: &'a BTreeMap<String, String>) -> BoxFuture<'a, Result<Vec<Container>>> {
        let has_all = |container: &Container| {
            labels.iter().all(|(key, value)| container.labels.get(key) == Some(value))
        };
        let found = self.with(|contents| {
            let all = contents.machines.values().map(|machine| machine.container.clone());
            contents.answers().map(|()| all.filter(has_all).collect())
        });
        async { found }.boxed()
    }

    fn inspect<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Container>>> {
        let found = self.with(|contents| {
            *contents.looks.entry(name.to_owned()).or_default() += 1;
            let balancer = contents.balancers.get(name).map(|balancer| Container {
                name: name.to_owned(),
                labels: balancer.labels.clone(),
                image: String::new(),
                address: balancer.address,
                state: State::Running,
                pid: Some(1),
                created: time(0),
                started: Some(time(0)),
            });
            let found = contents.machines.get(name).map(|machine| machine.container.clone());
            contents.answers().map(|()| found.or(balancer))
        });
        async { found }.boxed()
    }

    fn exec<'a>(&'a self, name: &'a str, mut exec: Exec<'a>) -> BoxFuture<'a, Result<Exit>> {
        async move {
            let mut input = Vec::new();
            exec.stdin.read_to_end(&mut input).await?;
            let (code, said) = self.run(name, &exec.command, input).await?;
            exec.stdout.write_all(said.as_bytes()).await?;
            Ok(Exit::Code(code))
        }
        .boxed()
    }

    fn console<'a>(&'a self, _: &'a str, _: usize) -> BoxFuture<'a, Result<Vec<u8>>> {
        async { Ok(Vec::new()) }.boxed()
    }

    fn has<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, bool> {
        let is_there = self.with(|contents| !contents.missing.contains(&path.display().to_string()));
        async move { is_there }.boxed()
    }

    fn pause<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        async move { bail!("nobody pauses {name}") }.boxed()
    }

    fn resume<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        async move { bail!("nobody resumes {name}") }.boxed()
    }

    fn stop<'a>(&'a self, name: &'a str, _: Duration) -> BoxFuture<'a, Result<()>> {
        async move { bail!("nobody stops {name}") }.boxed()
    }

    fn kill<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        async move { bail!("nobody kills {name}") }.boxed()
    }

    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        let removed = self.change(format!("remove {name}"), move |contents| {
            contents.answers()?;
            contents.machines.remove(name);
            Ok(())
        });
        removed.boxed()
    }
}
