//! Bytes that have a meaning for a shell.

use std::process::Command as Process;

use machinery::random::Random;
use node_bootstrap::{
    Action, Command, Error, Format, Metadata, NodeOptions, Outcome, Place, Step, WriteFile, parse, script,
};

use crate::containers_bootstrap::node::{LONG, Node, bootstrap, file, shell, shells};

/// Pieces of which hostile texts are made.
const PIECES: &[&str] = &[
    "'",
    "\"",
    "`",
    "$",
    "$(touch /tmp/x)",
    "${HOME}",
    "\\",
    "\\n",
    "\n",
    "\r",
    "\t",
    ";",
    "&",
    "|",
    "<",
    ">",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "*",
    "?",
    "~",
    "!",
    "#",
    "-",
    "--",
    "%",
    "%s",
    "%d",
    "=",
    " ",
    "  ",
    "a",
    "é",
    "\u{81}",
    "\u{1f600}",
    "\u{7f}",
    "\u{1}",
    "EOF",
    "exit 9",
    "'\\''",
    "\"'",
    "\\\\",
    "\\0",
    "\\055",
];

fn text(random: &Random, most: u64) -> String {
    let length = random.number() % most + 1;
    (0..length).map(|_| PIECES[usize::try_from(random.number()).unwrap() % PIECES.len()]).collect()
}

#[test]
fn contents_paths_and_words_arrive_as_they_are() {
    for (seed, words) in (0..40).zip(shells().iter().cycle()) {
        let random = Random::seeded(seed);
        let node = Node::with_shell(words);
        let mut steps = Vec::new();
        let mut files = Vec::new();
        for _ in 0..4 {
            let mut content = vec![0; usize::try_from(random.number() % 9000).unwrap()];
            random.fill(&mut content);
            // A name must not be a folder, and not longer than the kernel allows.
            let name: String = text(&random, 12).replace('/', "").chars().take(60).collect();
            let path = format!("/files/{}/-{name}.", text(&random, 5).replace('/', ""));
            steps.push(file(&path, &content));
            files.push((path, content));
        }
        let arguments: Vec<String> = (0..5).map(|_| text(&random, 20)).chain([String::new()]).collect();
        let out = node.path("/words");
        let print = "out=$1; shift; for word; do printf '%s\\0' \"$word\"; done >\"$out\"";
        let command = ["/bin/sh", "-c", print, "x", out.to_str().unwrap()].map(str::to_owned);
        let command = command.into_iter().chain(arguments.clone()).collect();
        steps.push(Step { what: text(&random, 30), action: Action::Run(Command::Arguments(command)) });
        assert_eq!(node.run(&bootstrap(steps), LONG), Some(0), "seed {seed}: {:?}", node.report());
        assert_eq!(node.report().outcome, Outcome::Completed, "seed {seed}");
        for (path, content) in files {
            assert!(node.read(&path) == content, "seed {seed}: {path:?}");
        }
        let expected: String = arguments.iter().map(|word| format!("{word}\0")).collect();
        assert_eq!(String::from_utf8_lossy(&node.read("/words")), expected, "seed {seed}");
    }
}

#[test]
fn each_byte_of_a_content_arrives() {
    let all: Vec<u8> = (0..=255).collect();
    let contents = [
        Vec::new(),
        all.clone(),
        all.iter().rev().copied().collect(),
        b"-n -e \\c".to_vec(),
        b"\0\0\0".to_vec(),
        b"no line break at the end".to_vec(),
        // Octal digits behind a byte that is written in octal digits.
        b"\x01\x31\x32\x33\xff777".to_vec(),
        all.repeat(200),
    ];
    for words in shells() {
        let node = Node::with_shell(&words);
        let steps = contents.iter().enumerate().map(|(index, content)| file(&format!("/f/{index}"), content));
        assert_eq!(node.run(&bootstrap(steps.collect()), LONG), Some(0), "{words:?}");
        for (index, content) in contents.iter().enumerate() {
            assert!(node.read(&format!("/f/{index}")) == *content, "{words:?}: {index}");
        }
    }
}

#[test]
fn each_script_is_a_script() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..60 {
        let random = Random::seeded(seed);
        let mut content = vec![0; 300];
        random.fill(&mut content);
        let owner = text(&random, 6);
        let written = WriteFile {
            path: format!("/{}x", text(&random, 8)),
            content,
            mode: Some(0o644),
            owner: Some(owner),
            append: true,
        };
        let steps = vec![
            Step { what: text(&random, 10), action: Action::WriteFile(written) },
            shell(&text(&random, 40)),
            Step {
                what: text(&random, 10),
                action: Action::Run(Command::Arguments(vec![text(&random, 9), text(&random, 9)])),
            },
        ];
        let place = Place::below(&format!("/x/{}", text(&random, 5)));
        let Ok(text) = script(&bootstrap(steps), &place, LONG) else { continue };
        assert!(text.bytes().all(|byte| byte != 0));
        let path = folder.path().join("script");
        std::fs::write(&path, &text).unwrap();
        for words in shells() {
            let output = Process::new(words[0]).args(&words[1..]).arg("-n").arg(&path).output().unwrap();
            assert!(output.status.success(), "seed {seed}: {words:?}: {output:?}\n{text}");
            assert!(output.stderr.is_empty(), "seed {seed}: {output:?}");
        }
    }
}

#[test]
fn what_no_shell_can_take_is_refused() {
    let nul = "it contains a NUL byte, which no path and no command can hold";
    let long = "x".repeat(128 * 1024);
    let too_long = "it is longer than 131071 bytes: write it into a file and run that";
    let arguments = |words: &[&str]| Step {
        what: "x".to_owned(),
        action: Action::Run(Command::Arguments(words.iter().map(|word| (*word).to_owned()).collect())),
    };
    let cases = [
        (shell("a\0b"), nul),
        (arguments(&["a", "b\0"]), nul),
        (file("/a\0b", b""), nul),
        (shell(&long), too_long),
        (arguments(&["echo", &long]), too_long),
        (arguments(&[]), "the command has no program"),
        (arguments(&["", "x"]), "the command has no program"),
        (file("a/b", b""), "the path must be absolute, as /etc/example"),
        (file("/a/", b""), "the path must name a file, without .."),
        (file("/a/../b", b""), "the path must name a file, without .."),
    ];
    for (step, expected) in cases {
        let result = script(&bootstrap(vec![shell("true"), step]), &Place::default(), LONG);
        let Err(Error::Field { field, why }) = result else { panic!("{expected}: {result:?}") };
        assert!(field.starts_with("step 2 ("), "{field}");
        assert_eq!(why, expected);
    }
    // JSON can express it.
    let data = r#"{"ignition":{"version":"2.3.0"},"storage":{"files":[{"path":"/a\u0000b"}]}}"#;
    assert!(
        parse(data.as_bytes(), Format::Ignition, &Metadata::default())
            .unwrap_err()
            .to_string()
            .contains("NUL")
    );
}

#[test]
fn deep_texts_are_read() {
    for piece in
        ["$(", "\"$(", "`", "${x:-", "${x:-\"", "\"${x:-$(", "$((", "(", "{", "sh -c '", "<(", "a<<b\n", "\\"]
    {
        let deep = piece.repeat(100_000 / piece.len());
        let adapted =
            bootstrap(vec![shell(&format!("kubeadm init; {deep}"))]).adapt(NodeOptions::default()).unwrap();
        let Action::Run(Command::Shell(text)) = &adapted.steps[0].action else { panic!("{piece}") };
        assert!(text.starts_with("kubeadm init --ignore-preflight-errors="), "{piece}");
    }
}

/// The work for a text is linear in its bytes, or these would take hours.
#[test]
fn large_texts_are_read() {
    let metadata = Metadata::new("node-1", "i-1");
    let template =
        |text: &str| parse(text.as_bytes(), Format::CloudConfig, &metadata).map(|read| read.steps.len());
    let head = "## template: jinja\n#cloud-config\n";
    let bodies = [
        format!("# {}\n", "{{v1.local_hostname}}".repeat(100_000)),
        format!("# {{% raw %}}{}{{% endraw %}}\n", "{%".repeat(1_000_000)),
        format!("# {{% raw %}}{}{{% endraw %}}\n", "%}".repeat(1_000_000)),
        format!("# {{% raw %}}{}{{% endraw %}}\n", "{% x %}".repeat(300_000)),
        format!("# {}\n", "{# #}".repeat(400_000)),
        format!("# {}\n", "{ { ".repeat(500_000)),
        format!("# {}\n", "{{- v1.local_hostname -}}\n".repeat(100_000)),
    ];
    for body in bodies {
        assert_eq!(template(&format!("{head}{body}")), Ok(0));
    }
    let mention = "/run/cluster-api/bootstrap-success.complet/";
    let text = format!("write_files:\n- path: /x\n  content: \"{}\"\n", mention.repeat(60_000));
    assert_eq!(template(&text), Ok(1));
    let users = format!("users: [{}]", "{name: a, groups: 'b,c', ssh_authorized_keys: [k]},".repeat(9_000));
    assert_eq!(template(&users), Ok(9_000));
}

#[test]
fn no_bytes_stop_the_parsers() {
    let seeds: [(&[u8], Format); 3] = [
        (include_bytes!("data/whole.cloud-config"), Format::CloudConfig),
        (include_bytes!("data/recorded/worker-files.cloud-config"), Format::CloudConfig),
        (include_bytes!("data/whole.ign"), Format::Ignition),
    ];
    let metadata = Metadata::new("host", "id");
    for seed in 0..1500 {
        let random = Random::seeded(seed);
        let (data, format) = seeds[usize::try_from(seed % 3).unwrap()];
        let mut data = data.to_vec();
        for _ in 0..random.number() % 6 + 1 {
            let at = usize::try_from(random.number()).unwrap() % data.len();
            let piece = text(&random, 3);
            match random.number() % 3 {
                0 => data[at] = u8::try_from(random.number() % 256).unwrap(),
                1 => drop(data.splice(at..at, piece.bytes())),
                _ => data.truncate(at.max(1)),
            }
        }
        if let Ok(bootstrap) = parse(&data, format, &metadata)
            && let Ok(bootstrap) = bootstrap.adapt(NodeOptions::default())
        {
            script(&bootstrap, &Place::default(), LONG).unwrap();
        }
    }
}
