//! The commands, and the files that one of them generates.

use clap::Parser;

#[test]
fn the_long_runs_are_commands() {
    for arguments in xtask::ci::LONG {
        let line = ["xtask"].into_iter().chain(arguments.iter().copied());
        assert!(xtask::Arguments::try_parse_from(line).is_ok(), "{arguments:?}");
    }
}

#[test]
fn generated_files_are_what_their_sources_say() {
    xtask::schemas::run(&xtask::workspace_root(), true).unwrap();
}
