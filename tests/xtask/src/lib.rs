//! The commands of `cargo xtask`.

pub mod agent;
pub mod ci;
mod clients;
mod crash;
mod linearizability;
pub mod package;
pub mod schemas;
mod suite;
pub mod test;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's own commands")]
/// The arguments of `cargo xtask`.
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build and compress the agent for a server that is built with FIRSTLIGHT_AGENT, and print the path.
    Agent,
    /// Attack the release binary: routes nobody may take, forged identities, bodies that overflow, connections that never end, random requests.
    ///
    /// Builds the server first, unless FIRSTLIGHT_BINARY names one.
    Attack {
        /// Passed through: names of scenarios, `--seed SEED`, `--requests N`, `--full`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Take the figures of docs/BENCHMARKS.md from the release binary.
    Bench {
        /// Passed through: `--rounds N`, `--only NAME`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Run all checks of a change, as CI does: `.ci/run`.
    Ci {
        /// Then the runs that take hours, too. A failure does not stop the others.
        #[arg(long)]
        all: bool,
    },
    /// Run the whole plane under a paused clock: simulations of several clusters with users and failures, each from a seed; for every tenth seed a whole life that is
    /// killed somewhere; and a fleet of 500 bare metal hosts (FLEET_HOSTS says otherwise). Prints the seed that fails.
    Simulate {
        /// How many seeds.
        #[arg(long, default_value_t = 100)]
        seeds: u64,
        /// The first of them.
        #[arg(long, default_value_t = 1)]
        from: u64,
        /// Also so many clusters on the machines of another fleet, which takes some seconds for each.
        #[arg(long, default_value_t = 0)]
        clusters: u64,
        /// Also short lives from 80 seeds, and killed at every second write, and simulations in which each single write and event fails.
        #[arg(long)]
        thorough: bool,
    },
    /// Play the transcripts and scenarios of `tests/clients` with the real kubectl, and run its programs.
    ///
    /// Builds the server first, unless FIRSTLIGHT_BINARY names one. UPDATE_EXPECT=1 writes what was printed into the transcripts.
    Clients {
        /// Only those whose names contain one of these. `scenarios`: only the scenarios of Cluster API's end-to-end specs. `takeover`: only the
        /// takeover by upstream's Metal3; with --all for ten minutes instead of four. `control-plane`: only a cluster whose control plane
        /// upstream's manager looks after. `providers`: only upstream's providers as processes, and their figures. `e2e [SPEC...]`: only
        /// specs of Cluster API's own end-to-end suite, the names as in docs/conformance.md; with --all each that needs no nodes. The last four need the
        /// programs of tests/takeover/install-tools. `suites [build] [WORD...]`: only the envtest suites of other projects, or their packages with such a
        /// word in their names; with `build` they are only built.
        names: Vec<String>,
        /// The envtest suites of other projects and the takeovers, too. ENVTEST_PEER=DIR, a folder with kube-apiserver and etcd, runs them there as well.
        #[arg(long)]
        all: bool,
    },
    /// Cut the power of the store's disk at every access, and kill processes that write: the store alone, and the server.
    Crash {
        /// How many random scripts.
        #[arg(long, default_value_t = 10)]
        seeds: u64,
        /// How often each writer is killed.
        #[arg(long, default_value_t = 50)]
        kills: u64,
    },
    /// Feed every parser with mutations of a kept corpus, two parsers at a time.
    Fuzz {
        /// Passed through: `--seconds N` for each target, `--target NAME`, `--seed SEED`, `--keep`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Kill the server, fill and slow down its disk and turn its clock under recorded traffic, and check what clients saw.
    Linearizability {
        /// Passed through: `--seconds N`, `--seed SEED`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Boot virtual machines with the release binary: from power-on to an installed system.
    ///
    /// Builds the server first, unless FIRSTLIGHT_BINARY names one. Needs root, and what tests/netboot/install-tools installs.
    Netboot {
        /// Only the scenarios whose names contain one of these.
        names: Vec<String>,
        /// All scenarios, those too that take figures.
        #[arg(long, conflicts_with = "names")]
        all: bool,
    },
    /// Bring up real kubelets in system containers of this machine: a cluster of Cluster API, from nothing to its deletion.
    ///
    /// Builds the server first, unless FIRSTLIGHT_BINARY names one. Needs root, Go, and what tests/nodes/install-tools installs.
    Nodes {
        /// Only the scenarios whose names contain one of these: `journey` and `pivot` (into itself), which are the default ones, `tutorial` (the commands
        /// of docs/tutorials/local-cluster.md), `class` (upstream's quick start), `by-hand` (the same cluster by kubeadm alone), `figures` and `three` (figures of 1 + 1 and of
        /// 3 + 3 machines, the latter by kubeadm alone, too), and the bad days `behind`, `cut`, `kills`, `refused`, `two`,
        /// `unprivileged`. `docker` and `podman` need Debian's docker.io or podman, iptables and python3, and run only so; so does `capd` (upstream's own Docker provider,
        /// with Docker). `images`: only make the images in target/tools/nodes, and print where they are.
        names: Vec<String>,
        /// All scenarios, except `docker`, `podman`, `capd` and those of figures.
        #[arg(long, conflicts_with = "names")]
        all: bool,
    },
    /// Make the packages of a release in target/packages, and check them: archive, Debian package, container image, SBOM, provenance, checksums.
    ///
    /// Builds the server first, unless FIRSTLIGHT_BINARY names one. Needs tar, dpkg and systemd-analyze.
    Package {
        /// Fail if the program needs a newer C library than the README says.
        #[arg(long)]
        for_release: bool,
    },
    /// Move random graphs of objects from one server to another from many seeds, each with a fault somewhere; prints the seed that fails.
    Pivot {
        /// How many seeds.
        #[arg(long, default_value_t = 200)]
        seeds: u64,
        /// The first of them.
        #[arg(long, default_value_t = 1)]
        from: u64,
    },
    /// Restart a server with simulated clusters again and again, in virtual time with requests that are late, and in real time beside threads
    /// that take the processor: after each restart all clusters must answer.
    Restarts {
        /// How many clusters.
        #[arg(long, default_value_t = 12)]
        clusters: u64,
        /// How many restarts of each kind.
        #[arg(long, default_value_t = 100)]
        restarts: u64,
    },
    /// Build the agent as a static program, and the server with it inside: the agent for musl where its target and C compiler (musl-tools) can be
    /// had, otherwise with the C library of this machine.
    Release,
    /// Write the Rust types and the CustomResourceDefinitions of `schemas/` from `schemas/types` and `schemas/crds`.
    Schemas {
        /// Change nothing; fail when a file would change.
        #[arg(long)]
        check: bool,
    },
    /// Run the tests that hold one crate: its own, and those of others that `held-by` in its Cargo.toml names.
    Test {
        /// The crate: `bmc`, `metal/bmc` or `firstlight-bmc`.
        name: String,
        /// Only its own tests whose names contain one of these.
        filters: Vec<String>,
    },
}

/// Number of seeds of drawn simulations for each seed of a whole life, which takes longer and is killed.
const WORLDS_PER_LIFE: u64 = 10;
/// Number of hosts for each cluster that `simulate` runs on them, of which some are not needed.
const HOSTS_PER_CLUSTER: u64 = 12;

/// Runs the command that the arguments name.
///
/// # Errors
/// It fails.
pub fn run() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Agent => {
            Ok(writeln!(std::io::stdout().lock(), "{}", agent::build(&workspace_root())?.display())?)
        }
        Command::Attack { arguments } => {
            let binary = suite::server(&workspace_root())?;
            suite::run(&workspace_root(), "attack", &arguments, &[("FIRSTLIGHT_BINARY", &binary)])
        }
        Command::Bench { arguments } => {
            suite::release(&workspace_root())?;
            let mut all = vec!["run", "--release", "--quiet", "--package", "firstlight-benches", "--"];
            all.extend(arguments.iter().map(String::as_str));
            suite::cargo(&workspace_root(), &all, &[])
        }
        Command::Ci { all } => ci::run(&workspace_root(), all),
        Command::Simulate { seeds, from, clusters, thorough } => {
            let hosts = (clusters * HOSTS_PER_CLUSTER).to_string();
            let lives = seeds.div_ceil(WORLDS_PER_LIFE).to_string();
            let (seeds, from, clusters) = (seeds.to_string(), from.to_string(), clusters.to_string());
            let mut variables = vec![
                ("SIMULATE_SEEDS", lives.as_str()),
                ("SIMULATE_DRAWN", seeds.as_str()),
                ("SIMULATE_FROM", from.as_str()),
                ("FLEET_HOSTS", "500"),
            ];
            let mut names = vec!["drawn::", "seeds::", "fleet::"];
            if clusters != "0" {
                variables.extend([("CLUSTERS", clusters.as_str()), ("CLUSTERS_HOSTS", hosts.as_str())]);
                names.push("metal_clusters::");
            }
            if thorough {
                variables.extend([
                    ("SIMULATE_SHORT_LIVES", "80"),
                    ("SIMULATE_STRIDE", "2"),
                    ("SIMULATE_HEALING", "400"),
                    ("SIMULATE_WORLD_STRIDE", "1"),
                ]);
                names.extend(["simulation::", "topology::kills::", "single_failures::"]);
            }
            suite::tests(&workspace_root(), "simulation", &names, &variables)
        }
        Command::Clients { names, all } => clients::run(&workspace_root(), &names, all),
        Command::Crash { seeds, kills } => crash::run(&workspace_root(), seeds, kills),
        Command::Fuzz { arguments } => match arguments.split_first() {
            Some((first, rest)) if first == "--coverage" => suite::coverage(&workspace_root(), rest),
            _ => suite::run(&workspace_root(), "fuzz", &arguments, &[]),
        },
        Command::Linearizability { arguments } => linearizability::run(&workspace_root(), &arguments),
        Command::Netboot { mut names, all } => {
            let binary = suite::server(&workspace_root())?;
            names.extend(all.then(|| "--all".to_owned()));
            suite::run(&workspace_root(), "netboot-tests", &names, &[("FIRSTLIGHT_BINARY", &binary)])
        }
        Command::Nodes { mut names, all } => {
            let binary = suite::server(&workspace_root())?;
            names.extend(all.then(|| "--all".to_owned()));
            suite::run(&workspace_root(), "nodes-tests", &names, &[("FIRSTLIGHT_BINARY", &binary)])
        }
        Command::Package { for_release } => package::run(&workspace_root(), for_release),
        Command::Pivot { seeds, from } => {
            let (seeds, from) = (seeds.to_string(), from.to_string());
            let variables = [("GRAPHS_SEEDS", seeds.as_str()), ("GRAPHS_FROM", from.as_str())];
            suite::tests(&workspace_root(), "pivot", &["graphs::"], &variables)
        }
        Command::Restarts { clusters, restarts } => {
            let (clusters, restarts) = (clusters.to_string(), restarts.to_string());
            let variables = [("RESTARTS_CLUSTERS", clusters.as_str()), ("RESTARTS", restarts.as_str())];
            suite::tests(&workspace_root(), "simulation", &["restarts::"], &variables)
        }
        Command::Release => suite::release(&workspace_root()),
        Command::Schemas { check } => schemas::run(&workspace_root(), check),
        Command::Test { name, filters } => test::run(&workspace_root(), &name, &filters),
    }
}

/// The folder of the workspace's `Cargo.toml`.
pub fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}
