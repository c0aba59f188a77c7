//! A server of system containers that does one thing and ends: tests start it in networks of their own, and end it at any step.
//!
//! `node-runtime-try DATA VERB …` prints JSON. The file `DATA/end-at` has the name of the step at which a process kills itself.
#![allow(clippy::print_stdout, reason = "a program for tests and for hands")]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Poll, Poll as Ready};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use machinery::clock::Clock;
use machinery::random::Random;
use node_balancer::Contained;
use node_runtime::{LinuxRuntime, Options, supervisor};
use rustix::process::{Signal, getpid, kill_process};
use system_containers::balancer::{Balancers, Configuration};
use system_containers::{Exec, Exit, Runtime, Spec};
use tokio::io::AsyncWrite;

fn main() -> Result<()> {
    supervisor::run_with_steps(end_at);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let code = runtime.block_on(run())?;
    // Not by `return`, which would wait for a copy to the disk.
    std::process::exit(code);
}

/// Kills this process at the step that a test has chosen, once.
fn end_at(data: &Path, step: &str) {
    let file = data.join("end-at");
    if std::fs::read_to_string(&file).is_ok_and(|wanted| wanted.trim() == step) {
        std::fs::remove_file(&file).ok();
        kill_process(getpid(), Signal::KILL).ok();
    }
}

async fn run() -> Result<i32> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [data, verb, rest @ ..] = arguments.as_slice() else {
        bail!("usage: node-runtime-try DATA VERB …")
    };
    let range = std::env::var("RANGE").ok().map(|range| range.parse()).transpose()?;
    let (clock, random) = (Clock::system(), Random::system());
    let options = Options { data: PathBuf::from(data), range, clock, random, steps: end_at };
    let runtime = LinuxRuntime::open(options).await?;
    let name = rest.first().map_or("", String::as_str);
    match verb.as_str() {
        "create" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            print(&runtime.create(&serde_json::from_str::<Spec>(&text)?).await?)?;
        }
        "start" => print(&runtime.start(name).await?)?,
        "list" => {
            let labels = rest.iter().filter_map(|label| label.split_once('='));
            let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
            print(&runtime.list(&labels).await?)?;
        }
        "inspect" => print(&runtime.inspect(name).await?)?,
        "exec" => return exec(&runtime, name, &rest[1..]).await,
        "console" => print!("{}", String::from_utf8_lossy(&runtime.console(name, 1 << 20).await?)),
        "pause" => runtime.pause(name).await?,
        "resume" => runtime.resume(name).await?,
        "stop" => runtime.stop(name, seconds(rest.get(1))?).await?,
        "kill" => runtime.kill(name).await?,
        "remove" => runtime.remove(name).await?,
        "tables" => print!("{}", tables()?),
        "preflight" => print(&runtime.preflight().await?)?,
        "delete" => node_balancer::delete(&runtime, Path::new(data), name).await?,
        "balance" | "balancer" | "unbalance" => return balance(runtime, data, verb, name, rest.get(1)).await,
        other => bail!("unknown verb {other}"),
    }
    Ok(0)
}

/// `balance NAME [ADDRESS]` reads a configuration, `balancer NAME` inspects, and `unbalance NAME` removes.
async fn balance(
    runtime: LinuxRuntime,
    data: &str,
    verb: &str,
    name: &str,
    address: Option<&String>,
) -> Result<i32> {
    let balancers = Contained::new(Arc::new(runtime), data)?;
    match verb {
        "balance" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            let configuration: Configuration = serde_json::from_str(&text)?;
            let labels = BTreeMap::from([("for".to_owned(), name.to_owned())]);
            let address = address.map(|address| address.parse()).transpose()?;
            print(&balancers.ensure(name, &labels, address, &configuration).await?)?;
        }
        "balancer" => print(&balancers.inspect(name).await?)?,
        _ => balancers.remove(name).await?,
    }
    Ok(0)
}

fn seconds(text: Option<&String>) -> Result<Duration> {
    Ok(Duration::from_millis(text.context("how long, in milliseconds?")?.parse()?))
}

/// `exec NAME MILLISECONDS COMMAND…`
async fn exec(runtime: &LinuxRuntime, name: &str, rest: &[String]) -> Result<i32> {
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input)?;
    let exec = Exec {
        command: rest.iter().skip(1).cloned().collect(),
        environment: BTreeMap::new(),
        stdin: Box::new(&input[..]),
        stdout: Box::new(Blocking(std::io::stdout())),
        stderr: Box::new(Blocking(std::io::stderr())),
        time_limit: seconds(rest.first())?,
    };
    match runtime.exec(name, exec).await? {
        Exit::Code(code) => Ok(code),
        Exit::TimedOut => {
            println!("TIMED OUT");
            Ok(124)
        }
    }
}

/// Returns the names of all tables of nftables in this network, in what the kernel says of them (NFT_MSG_GETTABLE, as a dump).
fn tables() -> Result<String> {
    use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};
    use std::os::fd::AsRawFd;

    let socket =
        socket(AddressFamily::Netlink, SockType::Raw, SockFlag::empty(), SockProtocol::NetlinkNetFilter)?;
    let head = [&20_u32.to_ne_bytes()[..], &0x0a01_u16.to_ne_bytes(), &0x0301_u16.to_ne_bytes(), &[0; 12]];
    send(socket.as_raw_fd(), &head.concat(), MsgFlags::empty())?;
    let mut answer = vec![0; 1 << 16];
    let length = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    let text = String::from_utf8_lossy(&answer[..length]).into_owned();
    Ok(text.split('\0').filter(|word| word.starts_with("firstlight-")).collect::<Vec<_>>().join("\n"))
}

/// A stream of this process, which waits for nobody else.
struct Blocking<T>(T);

impl<T: Write + Unpin> AsyncWrite for Blocking<T> {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Poll<'_>, bytes: &[u8]) -> Ready<std::io::Result<usize>> {
        Ready::Ready(self.0.write(bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Poll<'_>) -> Ready<std::io::Result<()>> {
        Ready::Ready(self.0.flush())
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Poll<'_>) -> Ready<std::io::Result<()>> {
        Ready::Ready(self.0.flush())
    }
}

fn print(value: &impl serde::Serialize) -> Result<()> {
    println!("{}", serde_json::to_string(value)?);
    Ok(())
}
