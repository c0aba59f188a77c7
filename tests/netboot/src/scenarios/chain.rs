//! A figure: the time from power-on to the end of cloud-init, with firstlight and with a chain of common
//! tools.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use machinery::clock::Clock;
use serde_json::{Value, json};

use super::figures::plain_http;
use crate::assets::assets;
use crate::calls::{Calls, PORT};
use crate::dnsmasq::Dnsmasq;
use crate::images::{self, Image};
use crate::lab::{ADDRESS, Lab, run};
use crate::machine::{Boot, Design, Firmware, Machine};
use crate::scenario::{IPXE, Scenario, is_asked};
use crate::wait::{DEADLINE, until};

/// How often each is measured, alternately.
const ROUNDS: usize = 2;
/// HTTP port of the hand-made chain.
const HTTP: u16 = 8082;

/// BIOS with iPXE, no BMC, Debian of 940 MiB: the machine is switched on, inspected, written and restarted,
/// and cloud-init phones home.
pub async fn both() -> Result<()> {
    let (scenario, _) = Scenario::start_with(&[IPXE], &[]).await?;
    let image = images::debian(&scenario.lab.file("images")).await?;
    let mut calls = Calls::listen().await?;
    let design = |number| Design { memory: 2048, ..Scenario::design(number, Firmware::Bios) };
    for round in 0..ROUNDS {
        let machine = Machine::new(&scenario.lab, design(u8::try_from(round)?)).await?;
        ours(&scenario, &machine, &image, &mut calls).await?;
        machine.power_off().await;
    }
    let Scenario { lab, server } = scenario;
    server.kill().await;
    by_hand(&lab, &image).await?;
    let (_dnsmasq, _http) = serve(&lab).await?;
    for round in 0..ROUNDS {
        let machine = Machine::new(&lab, design(u8::try_from(ROUNDS + round)?)).await?;
        theirs(&machine, &mut calls).await?;
        machine.power_off().await;
    }
    Ok(())
}

fn phone_home() -> Value {
    json!({
        "phone_home": {"url": format!("http://{ADDRESS}:{PORT}/"), "post": ["instance_id"], "tries": 20},
    })
}

fn say(who: &str, what: &str, since: tokio::time::Instant) -> Result<()> {
    let seconds = since.elapsed().as_secs_f64();
    Ok(writeln!(
        std::io::stdout(),
        "figure: {who}, BIOS, Debian of 940 MiB: power-on to {what}: {seconds:.1} s"
    )?)
}

async fn heard(calls: &mut Calls, machine: &Machine) -> Result<()> {
    let called = calls.heard(DEADLINE).await;
    called.with_context(|| format!("--- its console\n{}", machine.console().tail())).map(drop)
}

async fn ours(scenario: &Scenario, machine: &Machine, image: &Image, calls: &mut Calls) -> Result<()> {
    let mut host = Scenario::host(machine);
    let secret = format!("user-data-{}", machine.design().name);
    scenario.secret(&secret, json!({"userData": format!("#cloud-config\n{}\n", phone_home())})).await?;
    host["spec"]["userData"] = json!({"name": secret});
    host["spec"]["image"] = image.spec();
    scenario.server.apply(&host).await?;
    scenario.wait("a person is asked to switch the machine on", DEADLINE, (&host, machine), is_asked).await?;
    let start = Clock::system().monotonic();
    machine.power_on(&Boot::Network).await?;
    for state in ["inspecting", "provisioning", "provisioned"] {
        scenario.state(state, DEADLINE, (&host, machine)).await?;
        say("firstlight", state, start)?;
    }
    heard(calls, machine).await?;
    say("firstlight", "cloud-init finished", start)
}

/// Serves the files of the hand-made chain.
async fn by_hand(lab: &Lab, image: &Image) -> Result<()> {
    let (folder, seed) = (lab.file("by-hand"), lab.file("seed"));
    std::fs::create_dir(&folder)?;
    let settings = json!({
        "datasource_list": ["None"],
        "datasource": {"None": {"metadata": {"local-hostname": "by-hand"}, "userdata_raw": format!("#cloud-config\n{}\n", phone_home())}},
    });
    std::fs::write(&seed, format!("{settings}\n"))?;
    let url = format!("http://{ADDRESS}:{HTTP}");
    let script = format!(
        "#!ipxe\nkernel {url}/vmlinuz initrd=initrd console=ttyS0 panic=30 no_timer_check quiet\ninitrd {url}/initrd\nboot\n"
    );
    std::fs::write(folder.join("boot.ipxe"), script)?;
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("images/make-by-hand");
    let text = |path: &Path| path.to_str().map(str::to_owned).context("a path that is text");
    let (program, kernel) = (text(&program)?, text(&assets().join("kernel"))?);
    let (seed, from, folder) = (text(&seed)?, text(&image.path)?, text(&folder)?);
    let call = format!("http://{ADDRESS}:{PORT}/");
    run(&program, &[&format!("{url}/image"), &call, &seed, &from, &kernel, &folder]).await.map(drop)
}

async fn serve(lab: &Lab) -> Result<(Dnsmasq, tokio::process::Child)> {
    let http = plain_http(&lab.file("by-hand"), HTTP).await?;
    let boot = format!("--dhcp-boot=tag:ipxe,http://{ADDRESS}:{HTTP}/boot.ipxe");
    // iPXE waits for router advertisements if there are none.
    let ipv6 = ["--dhcp-range=fd77::,ra-only", "--enable-ra", "--ra-param=dns1,0,0"];
    let options = ["--dhcp-userclass=set:ipxe,iPXE", &boot].into_iter().chain(ipv6).collect::<Vec<_>>();
    Ok((Dnsmasq::start(lab, &options).await?, http))
}

async fn theirs(machine: &Machine, calls: &mut Calls) -> Result<()> {
    let start = Clock::system().monotonic();
    machine.power_on(&Boot::Network).await?;
    heard(calls, machine).await?;
    say("by hand", "the inventory", start)?;
    let is_off = || async { (!machine.is_on()).then_some(()) };
    let waited = until("the image is written", Duration::from_secs(300), is_off).await;
    waited.with_context(|| format!("--- its console\n{}", machine.console().tail()))?;
    say("by hand", "the image is written", start)?;
    machine.power_on(&Boot::Disk).await?;
    heard(calls, machine).await?;
    say("by hand", "cloud-init finished", start)
}
