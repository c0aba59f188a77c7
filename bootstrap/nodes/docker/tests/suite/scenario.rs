//! What is tried.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use container_images::{Credentials, Sources};
use machinery::clock::Clock;
use machinery::random::Random;
use node_balancer::Contained;
use node_docker::{Docker, Options};
use system_containers::balancer::{Balancers, Configuration, Server};
use system_containers::{Captured, Container, Exit, Images, Runtime, Spec, State, Weight, run as execute};

use crate::engine::{Engine, Kind};
use crate::image::IMAGE;

const LIMIT: Duration = Duration::from_secs(30);
const NODE: &str = "suite-cp-1";
const BALANCER: &str = "suite-lb";

struct Suite {
    engine: Engine,
    docker: Arc<Docker>,
    started: tokio::time::Instant,
}

pub async fn run(kind: Kind, folder: &Path) -> Result<()> {
    let mut engine = Engine::new(kind, folder)?;
    engine.start()?;
    engine.answers().await?;
    engine.clear()?;
    let archive = engine.image()?;
    let data = folder.join("data");
    std::fs::remove_dir_all(&data).ok();
    let docker = Docker::open(Options {
        data: data.clone(),
        engine: match kind {
            Kind::Docker => node_docker::Engine::Docker,
            Kind::Podman => node_docker::Engine::Podman,
        },
        socket: Some(engine.socket()),
        network: node_docker::NETWORK.to_owned(),
        range: None,
        sources: Sources::new(vec![archive]),
        credentials: Credentials::default(),
        program: metal_boot::images::program::of_this_process,
        random: Random::system(),
    })
    .await?;
    let mut suite = Suite { engine, docker: Arc::new(docker), started: Clock::system().monotonic() };
    suite.preflight().await?;
    suite.image().await?;
    suite.container().await?;
    suite.programs().await?;
    suite.time_limit().await?;
    suite.pause().await?;
    suite.end().await?;
    suite.balancer(&data).await?;
    if kind == Kind::Docker {
        suite.crash().await?;
    }
    suite.removal().await
}

impl Suite {
    fn done(&self, what: &str) -> Result<()> {
        let seconds = self.started.elapsed().as_secs_f64();
        Ok(writeln!(std::io::stdout(), "{seconds:6.2} s  {what}")?)
    }

    async fn execute(&self, command: &[&str], input: &[u8]) -> Result<Captured> {
        execute(self.docker.as_ref(), NODE, command, input, LIMIT).await
    }

    async fn found(&self) -> Result<Container> {
        self.docker.inspect(NODE).await?.context("it is gone")
    }

    async fn preflight(&self) -> Result<()> {
        let found = self.docker.preflight().await?;
        for finding in &found {
            self.done(&format!("{:?}: {}", finding.weight, finding.what))?;
        }
        ensure!(found.iter().all(|finding| finding.weight != Weight::Obstacle), "there are obstacles");
        Ok(())
    }

    async fn image(&self) -> Result<()> {
        let image = self.docker.find(IMAGE, &|_| ()).await?;
        ensure!(image.kubernetes.as_deref() == Some("v1.36.3"), "{image:?}");
        let mut archive = self.docker.archive(IMAGE).await?;
        let size = tokio::io::copy(&mut archive, &mut tokio::io::sink()).await?;
        ensure!(size > 1 << 20, "the archive has {size} bytes");
        self.done("the image was loaded from an archive, looked into, and packed")
    }

    async fn container(&self) -> Result<()> {
        let image = self.docker.find(IMAGE, &|_| ()).await?;
        let mut spec = Spec::of(NODE, &image);
        spec.labels.insert("suite".to_owned(), "yes".to_owned());
        let created = self.docker.create(&spec).await?;
        let started = self.docker.start(NODE).await?;
        self.done(&format!("a container runs at {}", started.address))?;
        ensure!(started.address == created.address && started.state == State::Running, "{started:?}");
        let labels = BTreeMap::from([("suite".to_owned(), "yes".to_owned())]);
        let listed = self.docker.list(&labels).await?;
        ensure!(listed == [started], "{listed:?}");
        let console = self.docker.console(NODE, 1 << 20).await?;
        ensure!(String::from_utf8_lossy(&console).contains("init runs as 1"), "{console:?}");
        let marker = self.execute(&["cat", "/var/lib/marker"], b"").await?;
        ensure!(marker.stdout == b"of the image\n", "the volume is no copy: {marker:?}");
        let host = self
            .execute(
                &["sh", "-c", "cat /proc/sys/kernel/hostname; ls /lib/modules >/dev/null; echo $container"],
                b"",
            )
            .await?;
        let host = String::from_utf8_lossy(&host.stdout).into_owned();
        ensure!(host.starts_with(NODE) && host.contains("docker"), "{host}");
        Ok(())
    }

    async fn programs(&self) -> Result<()> {
        let ran = self.execute(&["sh", "-c", "echo out; echo bad >&2; exit 3"], b"").await?;
        let is_right = ran.exit == Exit::Code(3) && ran.stdout == b"out\n" && ran.stderr == b"bad\n";
        ensure!(is_right, "{ran:?}");
        let input = vec![b'x'; 8 << 20];
        let counted = self.execute(&["wc", "-c"], &input).await?;
        ensure!(counted.stdout.trim_ascii() == b"8388608", "{counted:?}");
        let unread = self.execute(&["true-is-not-here"], &input).await?;
        ensure!(unread.exit == Exit::Code(127), "{unread:?}");
        let before = Clock::system().monotonic();
        for _ in 0..10 {
            let ran = self.execute(&["cat"], b"text").await?;
            ensure!(ran.is_success() && ran.stdout == b"text", "{ran:?}");
        }
        let each = before.elapsed().as_secs_f64() / 10.0;
        self.done(&format!("programs run; one with input takes {each:.3} s"))
    }

    async fn time_limit(&self) -> Result<()> {
        let short = Duration::from_secs(1);
        let command = ["sh", "-c", "sleep 7777 & sleep 7777"];
        let before = Clock::system().monotonic();
        let ran = execute(self.docker.as_ref(), NODE, &command, b"", short).await?;
        ensure!(ran.exit == Exit::TimedOut, "{ran:?}");
        ensure!(before.elapsed() < Duration::from_secs(5), "it took {:?}", before.elapsed());
        let left = self.execute(&["sh", "-c", "ps | grep '[s]leep 7777'"], b"").await?;
        ensure!(left.stdout.is_empty(), "{}", String::from_utf8_lossy(&left.stdout));
        self.done("a program whose time is over is gone from the container")
    }

    async fn pause(&self) -> Result<()> {
        self.docker.pause(NODE).await?;
        ensure!(self.found().await?.state == State::Paused, "it is not paused");
        let error = self.execute(&["cat"], b"").await.err().context("a paused container runs programs")?;
        self.done(&format!("paused: {error:#}"))?;
        self.docker.resume(NODE).await?;
        ensure!(self.execute(&["cat"], b"").await?.is_success(), "it does not go on");
        Ok(())
    }

    async fn end(&self) -> Result<()> {
        let address = self.found().await?.address;
        self.docker.stop(NODE, Duration::from_secs(20)).await?;
        self.done("stopped by systemd's signal")?;
        let stopped = self.found().await?;
        ensure!(stopped.state == State::Stopped { code: Some(7), error: None }, "{stopped:?}");
        ensure!(stopped.address == address, "{stopped:?}");
        ensure!(self.docker.start(NODE).await?.address == address, "its address changed");
        self.done("started again")?;
        self.docker.kill(NODE).await?;
        self.done("killed")?;
        let killed = self.found().await?;
        ensure!(killed.state == State::Stopped { code: Some(137), error: None }, "{killed:?}");
        self.docker.start(NODE).await?;
        self.done("started again at the same address")
    }

    async fn balancer(&self, data: &Path) -> Result<()> {
        let runtime: Arc<dyn Runtime> = self.docker.clone();
        let balancers = Contained::new(runtime, data)?;
        let address = self.found().await?.address;
        let server = |name: &str| Server { name: name.to_owned(), address, port: 6443, drain: false };
        let mut configuration = Configuration { port: 6443, servers: vec![server("a")] };
        let labels = BTreeMap::new();
        let made = balancers.ensure(BALANCER, &labels, None, &configuration).await?;
        self.done(&format!("a balancer runs at {}: {:?}", made.address, made.status))?;
        ensure!(made.status.is_some(), "it does not say its status");
        let connect = async || tokio::net::TcpStream::connect((made.address, 6443)).await;
        drop(connect().await.context("nobody listens at the endpoint")?);
        configuration.servers.push(server("b"));
        let changed = balancers.ensure(BALANCER, &labels, Some(made.address), &configuration).await?;
        let servers = changed.status.context("no status")?.configuration.servers;
        ensure!(servers.len() == 2, "{servers:?}");
        let top = self.engine.client(&["top", BALANCER, "-o", "pid,user,args"]);
        self.done(&format!("its configuration changes; its process: {top:?}"))?;
        self.docker.remove(BALANCER).await?;
        let again = balancers.ensure(BALANCER, &labels, Some(made.address), &configuration).await?;
        ensure!(again.address == made.address, "{again:?}");
        drop(connect().await.context("nobody listens at the endpoint")?);
        balancers.remove(BALANCER).await?;
        ensure!(balancers.inspect(BALANCER).await?.is_none(), "it is still there");
        self.done("a balancer that was lost is made again at its address, and removed")
    }

    async fn crash(&mut self) -> Result<()> {
        let before = self.found().await?;
        self.engine.kill()?;
        let error = self.found().await.err().context("a daemon that was killed answers")?;
        self.done(&format!("{error:#}"))?;
        self.engine.start()?;
        self.engine.answers().await?;
        let after = self.found().await?;
        ensure!(after.address == before.address, "{after:?}");
        self.docker.start(NODE).await?;
        ensure!(self.execute(&["cat"], b"").await?.is_success(), "it does not go on");
        self.done("everything goes on after the daemon was killed")
    }

    async fn removal(&self) -> Result<()> {
        self.docker.remove(NODE).await?;
        ensure!(self.docker.list(&BTreeMap::new()).await?.is_empty(), "something is left");
        for words in [
            ["ps", "-aq"].as_slice(),
            &["volume", "ls", "-q"],
            &["network", "ls", "-q", "--filter", "name=kind"],
            &["images", "-q", "localhost/firstlight-balancer"],
        ] {
            let left = self.engine.client(words)?;
            ensure!(left.is_empty(), "{words:?}: {left}");
        }
        self.done("nothing is left")
    }
}
