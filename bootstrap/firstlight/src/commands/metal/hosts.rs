//! `metal hosts`: the states of hosts and unknown machines.

use anyhow::{Result, anyhow};
use chrono::{DateTime, Utc};
use clap::Args;
use clusterctl::cluster_message;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use machinery::clock::{Clock, parse_rfc3339};
use machinery::table::human_duration;
use metal::summary::{HostSummary, bytes};
use schemas::metal3::{BareMetalHost, HardwareDetails};
use schemas::netboot::Agent;
use serde::Serialize;
use terminal::{cell, cut, wrapped};
use unicode_width::UnicodeWidthStr;

use crate::output::OutputOptions;
use crate::output::{print, say};
use crate::target::TargetOptions;
use crate::tree::screen;

/// Options of `metal hosts`.
#[derive(Debug, Args)]
pub struct HostsOptions {
    /// Only the hosts of this namespace [default: all]
    #[arg(short = 'n', long)]
    pub namespace: Option<String>,
    /// The option `-o`.
    #[command(flatten)]
    pub output: OutputOptions,
    /// The management cluster.
    #[command(flatten)]
    pub target: TargetOptions,
}

/// The report of hosts and unknown machines.
#[derive(Debug, Serialize, PartialEq)]
pub struct Report {
    /// The hosts, sorted by namespace and name.
    pub hosts: Vec<Host>,
    /// The machines that are not hosts, sorted by name.
    pub machines: Vec<Machine>,
}

/// A BareMetalHost in the report.
#[derive(Debug, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Host {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// `status.provisioning.state`, or `new` if it is empty.
    pub state: String,
    /// `on` or `off`; empty if unknown.
    pub power: &'static str,
    /// The current instruction of the agent and its progress; empty if there is no agent.
    pub agent: String,
    /// The event for which the host waits; empty if there is none.
    pub waiting_for: String,
}

/// A machine that runs the agent and is not a host.
#[derive(Debug, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Machine {
    /// The name, by which it is approved.
    pub name: String,
    /// The IP address.
    pub address: String,
    /// The serial number.
    pub serial_number: String,
    /// A summary of the inventory, if it is known.
    pub hardware: String,
    /// The time of the last report.
    pub last_seen_time: String,
    /// Whether the machine is approved, so that it soon becomes a host.
    pub approved: bool,
}

/// Runs `metal hosts`.
///
/// # Errors
/// The server does not answer.
pub async fn run(options: &HostsOptions) -> Result<()> {
    let connection = options.target.connect().await?;
    let report = gather(&connection.client, options.namespace.as_deref()).await?;
    match options.output.output {
        Some(output) => print(&report, output),
        None => say(&text(&report, Clock::system().now(), screen::width().unwrap_or(usize::MAX))),
    }
}

/// Reads hosts and machines from the API.
///
/// # Errors
/// The server does not answer, or does not serve the kinds.
pub async fn gather(client: &Client, namespace: Option<&str>) -> Result<Report> {
    let hosts: Api<BareMetalHost> = match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    };
    let hosts = hosts.list(&ListParams::default()).await;
    let hosts = hosts.map_err(|error| anyhow!("cannot read the hosts: {}", cluster_message(&error)))?;
    let agents: Api<Agent> = Api::all(client.clone());
    let agents = match agents.list(&ListParams::default()).await {
        Ok(agents) => agents.items,
        // A cluster with Metal3's own controllers has no Agents.
        Err(kube::Error::Api(status)) if status.code == 404 => Vec::new(),
        Err(error) => return Err(anyhow!("cannot read the machines: {}", cluster_message(&error))),
    };
    Ok(report(&hosts.items, &agents))
}

/// Builds the report from hosts and agents. Pure.
pub fn report(hosts: &[BareMetalHost], agents: &[Agent]) -> Report {
    let mut hosts: Vec<Host> = hosts.iter().map(|host| describe(host, agents)).collect();
    hosts.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    let unknown = agents.iter().filter(|agent| agent.spec.host_ref.is_none());
    let mut machines: Vec<Machine> = unknown.map(machine).collect();
    machines.sort_by(|a, b| a.name.cmp(&b.name));
    Report { hosts, machines }
}

fn describe(host: &BareMetalHost, agents: &[Agent]) -> Host {
    let HostSummary { stage, power, agent, waiting_for, .. } = HostSummary::of(host, agents);
    Host {
        namespace: host.namespace().unwrap_or_default(),
        name: host.name_any(),
        state: stage,
        power,
        agent,
        waiting_for,
    }
}

fn machine(agent: &Agent) -> Machine {
    let status = agent.status.clone().unwrap_or_default();
    Machine {
        name: agent.name_any(),
        address: status.address.unwrap_or_default(),
        serial_number: status.serial_number.unwrap_or_default(),
        hardware: status.hardware.as_ref().map(hardware).unwrap_or_default(),
        last_seen_time: status.last_seen_time.unwrap_or_default(),
        approved: agent.spec.approved == Some(true),
    }
}

/// Returns a summary like `QEMU Standard PC, 4 CPUs, 8 GiB, 2 disks`.
fn hardware(hardware: &HardwareDetails) -> String {
    let vendor = hardware.system_vendor.as_ref();
    let mut parts = Vec::new();
    let words = vendor.map(|vendor| [vendor.manufacturer.as_deref(), vendor.product_name.as_deref()]);
    let words: Vec<&str> = words.into_iter().flatten().flatten().filter(|word| !word.is_empty()).collect();
    if !words.is_empty() {
        parts.push(words.join(" "));
    }
    if let Some(count) = hardware.cpu.as_ref().and_then(|cpu| cpu.count) {
        parts.push(counted(count, "CPU"));
    }
    if let Some(memory) = hardware.ram_mebibytes {
        parts.push(bytes(memory.saturating_mul(1 << 20)));
    }
    if !hardware.storage.is_empty() {
        parts.push(counted(i64::try_from(hardware.storage.len()).unwrap_or(i64::MAX), "disk"));
    }
    parts.join(", ")
}

fn counted(number: i64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// The columns that a machine's serial number may have, and the message of its agent. Both come from the machine.
const SERIAL_COLUMNS: usize = 32;
const MESSAGE_COLUMNS: usize = 60;

/// Returns the report as text with lines of at most `width` columns.
///
/// An operator decides by it which machine is approved. So nothing that a machine or a BMC reports may look like another row: it is escaped,
/// and it never goes on at the beginning of a line.
pub fn text(report: &Report, now: DateTime<Utc>, width: usize) -> String {
    let mut text = String::new();
    if report.hosts.is_empty() && report.machines.is_empty() {
        return "No hosts. Describe them as BareMetalHosts, or with `firstlight metal import`, or boot machines over the network.\n"
            .to_owned();
    }
    if !report.hosts.is_empty() {
        let rows = report.hosts.iter().map(|host| {
            let name = format!("{}/{}", host.namespace, host.name);
            let agent = cell(&host.agent, MESSAGE_COLUMNS);
            [whole(&name), whole(&host.state), host.power.to_owned(), agent, whole(&host.waiting_for)]
        });
        let head = ["HOST", "STATE", "POWER", "AGENT", "WAITING FOR"];
        text.push_str(&table(head, rows.collect(), 4, width));
    }
    if !report.machines.is_empty() {
        if !report.hosts.is_empty() {
            text.push('\n');
        }
        let rows = report.machines.iter().map(|machine| {
            let seen = parse_rfc3339(&machine.last_seen_time);
            let seen = seen.map(|seen| human_duration(now - seen)).unwrap_or_default();
            let approval = if machine.approved { "approved" } else { "waits for approval" };
            let Machine { name, address, serial_number, hardware, .. } = machine;
            let serial = cell(serial_number, SERIAL_COLUMNS);
            [whole(name), whole(address), serial, whole(hardware), seen, approval.to_owned()]
        });
        let head = ["UNKNOWN MACHINE", "ADDRESS", "SERIAL", "HARDWARE", "SEEN", "STATE"];
        text.push_str(&table(head, rows.collect(), 3, width));
        if report.machines.iter().any(|machine| !machine.approved) {
            text.push_str("\nTo make a host of one: firstlight metal approve NAME\n");
        }
    }
    text
}

/// Returns a text as a cell of any width.
fn whole(text: &str) -> String {
    cell(text, usize::MAX)
}

/// The spaces between two columns.
const GAP: usize = 3;
/// The columns that the flexible column keeps on a narrow terminal.
const FLEXIBLE_COLUMNS_MIN: usize = 12;

/// Formats rows as aligned columns. If they are wider than `width`, the texts of the column `flexible` are broken into several lines.
fn table<const N: usize>(head: [&str; N], rows: Vec<[String; N]>, flexible: usize, width: usize) -> String {
    let mut lines = vec![head.map(str::to_owned)];
    lines.extend(
        rows.into_iter().map(|row| row.map(|cell| if cell.is_empty() { "-".to_owned() } else { cell })),
    );
    let mut widths: [usize; N] =
        std::array::from_fn(|column| lines.iter().map(|line| line[column].width()).max().unwrap_or_default());
    let others = widths.iter().sum::<usize>() - widths[flexible] + GAP * (N - 1);
    widths[flexible] = widths[flexible].min(width.saturating_sub(others).max(FLEXIBLE_COLUMNS_MIN));
    let mut text = String::new();
    for line in lines {
        for (part, flexible_cell) in wrapped(&line[flexible], widths[flexible]).into_iter().enumerate() {
            let cells = (0..N).map(|column| match (column == flexible, part) {
                (true, _) => flexible_cell.as_str(),
                (false, 0) => line[column].as_str(),
                (false, _) => "",
            });
            let padded = cells.zip(widths).map(|(cell, width)| {
                format!("{cell}{}", " ".repeat(width.saturating_sub(cell.width()) + GAP))
            });
            text.push_str(cut(padded.collect::<String>().trim_end(), width).as_str());
            text.push('\n');
        }
    }
    text
}
