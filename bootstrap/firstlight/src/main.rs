//! `firstlight`: one binary that sets up a first Cluster API management cluster.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::FromArgMatches;
use clap::error::ErrorKind;
use firstlight::cli::{self, Cli, Command};
use firstlight::commands::controllers::ControllersOptions;
use firstlight::commands::serve::ServeOptions;
use firstlight::commands::{
    backup, bundle, class, completion, controllers, image, inspect, list, logs, man_pages, metal, nodes,
    pivot, plan, serve, status, stop, undo, up, verbs, wait,
};
use firstlight::envtest::{self, Program};
use firstlight::logging::{self, Verbosity};
use firstlight::output::tell;
use firstlight::signals::Interrupted;
use server::options::ServerOptions;

/// jemalloc needs a quarter less time than the C library's allocator for the many small pieces of JSON. `.cargo/config.toml` sets how
/// much freed memory it keeps.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    pod_processes::shim::run_if_started_as_one();
    pod_network::helper::process::run_if_started_as_one();
    node_runtime::supervisor::run_if_started_as_one();
    node_docker::balancer::run_if_started_as_one();
    if agent::is_init() {
        return match agent::run() {
            Ok(never) => match never {},
            Err(error) => report("firstlight", Err(error)),
        };
    }
    let mut arguments = std::env::args_os();
    if let Some(program) = arguments.next().and_then(|name| Program::called(&name)) {
        let arguments = arguments.map(|argument| argument.to_string_lossy().into_owned());
        return report(program.name(), program.run(arguments));
    }
    let parsed = command_line().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let checked = parsed.and_then(|cli| match cli.check() {
        Ok(()) => Ok(cli),
        Err(error) => Err(command_line().error(ErrorKind::ArgumentConflict, error)),
    });
    let cli = match checked {
        Ok(cli) => cli,
        Err(error) => return misused(&error),
    };
    // `up` starts its log itself, beside the tree that it draws.
    if !matches!(cli.command, Command::Up(_)) {
        logging::start(match &cli.command {
            Command::Serve(ServeOptions { server: ServerOptions { log, .. }, .. })
            | Command::Controllers(ControllersOptions { log, .. }) => {
                log.log_level.map_or(Verbosity::Information, Verbosity::Chosen)
            }
            Command::Plan(_) => Verbosity::Errors,
            _ => Verbosity::Warnings,
        });
    }
    report(ERROR, run(cli))
}

/// The first word of an error: that of clusterctl, by which scripts recognise the errors of its verbs.
const ERROR: &str = "Error";

/// Prints an error of the command line, which begins with the word of all errors, or the help that was asked for.
fn misused(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        error.exit();
    }
    let text = match logging::has_colours_of_errors() {
        true => error.render().ansi().to_string(),
        false => error.render().to_string(),
    };
    // An error means that standard error is closed.
    drop(write!(std::io::stderr(), "{}", text.replacen("error:", "Error:", 1)));
    ExitCode::from(2)
}

/// Returns the command line; as a plugin of kubectl the program is named `kubectl firstlight`.
fn command_line() -> clap::Command {
    let name = std::env::args_os().next().unwrap_or_default();
    match std::path::Path::new(&name).file_name() {
        Some(name) if name == "kubectl-firstlight" => cli::command().bin_name("kubectl firstlight"),
        _ => cli::command(),
    }
}

fn report(program: &str, outcome: Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<Interrupted>() => {
            error.downcast_ref::<Interrupted>().map_or(ExitCode::FAILURE, |end| end.exit_code().into())
        }
        // Somebody reads only the beginning of the output, as `head` does.
        Err(error) if is_closed_pipe(&error) => ExitCode::from(128 + 13),
        Err(error) => {
            tell(&format!("{program}: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Returns whether standard output is a pipe that its reader has closed. Programs end with SIGPIPE then, which is number 13.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<std::io::Error>();
    error.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

fn run(cli: Cli) -> Result<()> {
    let Cli { mut command, clusterctl } = cli;
    match &mut command {
        Command::Serve(options) => options.server.clusterctl.clone_from(&clusterctl.config),
        Command::Up(options) => {
            options.server.clusterctl.clone_from(&clusterctl.config);
            options.verbose = clusterctl.verbosity.is_some_and(|level| level > 0);
        }
        _ => {}
    }
    match command {
        Command::Kubeconfig(options) => return inspect::kubeconfig(&options),
        Command::Version(options) => return inspect::version(&options),
        Command::Envtest { directory } => return envtest::install(&directory),
        Command::Image(options) => return image::run(&options),
        Command::Class(command) => return class::run(&command),
        Command::Completion { shell } => return completion::run(shell),
        Command::ManPages { directory } => return man_pages::run(&directory),
        _ => {}
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(async {
        match command {
            Command::Bundle(command) => bundle::run(&command).await,
            Command::Up(options) => up::run(&options).await,
            Command::Serve(options) => serve::run(&options).await,
            Command::Plan(options) => plan::run(&options).await,
            Command::Wait(options) => wait::run(&options).await,
            Command::Stop(options) => stop::run(&options).await,
            Command::Controllers(options) => controllers::run(&options).await,
            Command::Pivot(options) => pivot::run(&options).await,
            Command::Move(options) => pivot::run_move(&options).await,
            Command::List(options) => list::run(&options).await,
            Command::Status(options) => status::run(&options).await,
            Command::Logs(options) => logs::run(&options).await,
            Command::Backup(options) => backup::run(&options).await,
            Command::Restore(options) => backup::restore(&options).await,
            Command::Verify(options) => backup::verify(&options).await,
            Command::Metal(command) => metal::run(command).await,
            Command::Nodes(command) => nodes::run(command).await,
            Command::Undo(command) => undo::run(&command).await,
            Command::Verb(verb) => verbs::run(verb, &clusterctl).await,
            Command::Kubeconfig(_)
            | Command::Version(_)
            | Command::Envtest { .. }
            | Command::Image(_)
            | Command::Class(_)
            | Command::Completion { .. }
            | Command::ManPages { .. } => Ok(()),
        }
    })
}
