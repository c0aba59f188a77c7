//! Tests of `firstlight::cli`.

use clap::Parser;
use firstlight::cli::{Cli, Command, GROUPS, command, command_for, wrapped};
use schemas::admission::Features;

#[test]
fn the_command_line_is_consistent() {
    command().debug_assert();
}

#[test]
fn every_command_is_in_one_group() {
    let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
    grouped.sort_unstable();
    let command = command();
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
    let mut shown: Vec<&str> = shown.map(clap::Command::get_name).chain(["help"]).collect();
    shown.sort_unstable();
    assert_eq!(grouped, shown);
    let help = command.clone().render_help().to_string();
    assert!(!help.contains("GROUPS") && !help.contains("later release"), "{help}");
}

#[test]
fn help_is_broken_between_words() {
    assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
    assert_eq!(wrapped("one", 2), ["one"], "a word stays whole");
    let help = command_for(80).render_help().to_string();
    let longest = help.lines().map(|line| line.chars().count()).max().unwrap_or_default();
    assert!(longest <= 80, "{longest}: {help}");
}

#[test]
fn options_are_only_where_they_count() {
    let refused = |arguments: &[&str]| {
        let parsed = command().try_get_matches_from([&["firstlight"], arguments].concat());
        parsed.err().map(|error| error.to_string())
    };
    for wrong in [&["logs", "--config", "x"][..], &["metal", "hosts", "--config", "x"], &["stop", "-V"]] {
        assert!(refused(wrong).is_some(), "{wrong:?}");
    }
    let with = ["up", "serve", "init", "describe", "move"];
    assert!(refused(&["--config", "x", "init"]).is_none() && refused(&["init", "--config", "x"]).is_none());
    let mut command = command();
    command.build();
    for name in ["logs", "plan", "list"].into_iter().chain(with) {
        let help = command.find_subcommand_mut(name).unwrap().render_long_help().to_string();
        assert_eq!(help.contains("--config"), with.contains(&name), "{name}: {help}");
        assert!(!help.contains("--version"), "{name}");
    }
}

#[test]
fn options_stand_under_their_headings() {
    let command = command();
    let up = command.find_subcommand("up").unwrap();
    let heading = |id: &str| {
        let argument = up.get_arguments().find(|argument| argument.get_id() == id).unwrap();
        argument.get_help_heading()
    };
    for (id, expected) in [
        ("filename", None),
        ("wait", None),
        ("pivot_to", Some("Hand-over")),
        ("image", Some("Hand-over")),
        ("data_dir", Some("Server")),
        ("controllers", Some("Server")),
        ("interfaces", Some("Bare metal")),
    ] {
        assert_eq!(heading(id), expected, "{id}");
    }
}

#[test]
fn feature_gates_are_on_unless_the_user_turns_them_off() {
    let features = |arguments: &[&str]| {
        let cli = Cli::try_parse_from(["firstlight", "serve"].iter().chain(arguments))
            .map_err(|error| error.to_string())?;
        let Command::Serve(options) = cli.command else { return Err("not serve".to_owned()) };
        options.server.features.features(|_| None)
    };
    assert_eq!(features(&[]), Ok(Features::default()));
    let off = ["--feature-gates", "ClusterTopology=false", "--feature-gates=MachinePool=false"];
    let both = features(&off).unwrap();
    assert!(!both.cluster_topology && !both.machine_pool && both.runtime_sdk);
    assert!(
        features(&["--feature-gates", "Topology=true"])
            .unwrap_err()
            .contains("there are ClusterResourceSet, ")
    );
}
