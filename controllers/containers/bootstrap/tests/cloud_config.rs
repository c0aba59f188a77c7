//! What cloud-config becomes.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use node_bootstrap::{Action, Bootstrap, Command, Error, Format, Metadata, WriteFile, parse};

fn read(text: &str) -> Result<Bootstrap, Error> {
    parse(text.as_bytes(), Format::CloudConfig, &Metadata::new("node-1", "i-1"))
}

fn what(text: &str) -> Vec<String> {
    read(text).unwrap().steps.into_iter().map(|step| step.what).collect()
}

/// The only file of the data.
fn only_file(text: &str) -> WriteFile {
    let mut bootstrap = read(text).unwrap();
    assert_eq!(bootstrap.steps.len(), 1, "{text}");
    match bootstrap.steps.remove(0).action {
        Action::WriteFile(file) => file,
        Action::Run(_) => panic!("{text}"),
    }
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn steps_have_the_order_of_cloud_init() {
    let text = "#cloud-config\nruncmd:\n- run one\n- [run, two]\nusers:\n- name: u\nwrite_files:\n- {path: /late, defer: \
                true}\n- {path: /early}\nbootcmd: [boot one]\n";
    let expected = ["boot one", "write /early", "make the user u", "write /late", "run one", "run two"];
    assert_eq!(what(text), expected);
}

#[test]
fn commands_are_texts_or_words() {
    let text = "runcmd:\n- echo a\n- [echo, 0644, true, 'it''s', null, 1.0]\n-\n- >-\n  folded\n  text\n- |\n  two\n  \
                lines\n";
    let steps = read(text).unwrap().steps;
    let actions: Vec<Action> = steps.into_iter().map(|step| step.action).collect();
    let words = ["echo", "0644", "true", "it's", "", "1.0"].map(str::to_owned).to_vec();
    let shell = |text: &str| Action::Run(Command::Shell(text.to_owned()));
    let expected = [
        shell("echo a"),
        Action::Run(Command::Arguments(words)),
        shell("folded text"),
        shell("two\nlines\n"),
    ];
    assert_eq!(actions, expected);
    assert_eq!(read("runcmd: []\nbootcmd:\nwrite_files: ~\n").unwrap(), Bootstrap::default());
    assert_eq!(read("").unwrap(), Bootstrap::default());
    assert_eq!(read("#cloud-config\n").unwrap(), Bootstrap::default());
}

#[test]
fn commands_that_run_once_run() {
    let text = "bootcmd:\n- cloud-init-per once early echo \"early\"\n- [cloud-init-per, always, x, echo, late]\n- true; \
                cloud-init-per instance y echo two\n- echo cloud-init-per once z echo\n";
    let expected = ["echo \"early\"", "echo late", "true; echo two", "echo cloud-init-per once z echo"];
    assert_eq!(what(text), expected);
    let bootstrap = read(text).unwrap();
    assert_eq!(bootstrap.warnings.len(), 1, "{:?}", bootstrap.warnings);
}

#[test]
fn files_have_their_fields() {
    let cases = [
        ("", None, None, false),
        ("permissions: '0640'", Some(0o640), None, false),
        ("permissions: 0640", Some(0o640), None, false),
        ("permissions: \"640\"", Some(0o640), None, false),
        ("permissions: 0o4755", Some(0o4755), None, false),
        ("permissions: ''", None, None, false),
        ("owner: root", None, Some("root"), false),
        ("owner: ' 0:daemon '", None, Some("0:daemon"), false),
        ("owner: none:daemon", None, Some(":daemon"), false),
        ("owner: ''", None, None, false),
        ("append: true", None, None, true),
        ("append: yes", None, None, true),
        ("append: 'True'", None, None, true),
        ("append: false", None, None, false),
    ];
    for (fields, mode, owner, append) in cases {
        let text = format!("write_files:\n- path: ' /etc/x '\n  content: |\n    text\n  {fields}\n");
        let owner = owner.map(str::to_owned);
        let expected =
            WriteFile { path: "/etc/x".to_owned(), content: b"text\n".to_vec(), mode, owner, append };
        assert_eq!(only_file(&text), expected, "{fields}");
    }
}

#[test]
fn encodings_are_undone() {
    let packed = gzip(b"text\n");
    let twice = [gzip(b"te"), gzip(b"xt\n")].concat();
    let (plain, zipped, twice) = (STANDARD.encode("text\n"), STANDARD.encode(packed), STANDARD.encode(twice));
    let cases = [
        ("b64", plain.as_str()),
        ("base64", &plain),
        (" Base64 ", &plain),
        ("gz+base64", &zipped),
        ("gzip+base64", &zipped),
        ("gz+b64", &zipped),
        ("GZIP+B64", &zipped),
        ("gz+b64", &twice),
        ("gz", &zipped),
        ("gzip", &zipped),
    ];
    for (encoding, content) in cases {
        let broken: String =
            content.chars().map(|c| if c == 'A' { "A\n    ".to_owned() } else { c.to_string() }).collect();
        for content in [content, content.trim_end_matches('='), &broken] {
            let text =
                format!("write_files:\n- path: /x\n  encoding: '{encoding}'\n  content: |\n    {content}\n");
            assert_eq!(only_file(&text).content, b"text\n", "{text}");
        }
    }
    for encoding in ["text/plain", "plain", "''", "~"] {
        let text = format!("write_files:\n- path: /x\n  encoding: {encoding}\n  content: dGV4dAo=\n");
        assert_eq!(only_file(&text).content, b"dGV4dAo=", "{encoding}");
    }
    assert_eq!(only_file("write_files: [{path: /x, content: !!binary dGV4dAo=}]").content, b"text\n");
    // The data as a whole, as a provider may compress it.
    let bootstrap =
        parse(&gzip(b"#cloud-config\nruncmd: [a]\n"), Format::CloudConfig, &Metadata::default()).unwrap();
    assert_eq!(bootstrap.steps.len(), 1);
}

#[test]
fn bombs_are_refused() {
    let bomb = STANDARD.encode(gzip(&vec![0; 17 * 1024 * 1024]));
    let half = STANDARD.encode(gzip(&vec![b'x'; 9 * 1024 * 1024]));
    let file = |content: &str| format!("- {{path: /x, encoding: gz+b64, content: {content}}}\n");
    let error = read(&format!("write_files:\n{}", file(&bomb))).unwrap_err().to_string();
    assert_eq!(error, "write_files[0]: /x: the content is larger than 16777216 bytes after decompression");
    assert_eq!(read(&format!("write_files:\n{}", file(&half))).unwrap().steps.len(), 1);
    let error = read(&format!("write_files:\n{}{}", file(&half), file(&half))).unwrap_err().to_string();
    assert_eq!(error, "the content of all files is larger than 16777216 bytes");
    let whole = gzip(&vec![b'#'; 17 * 1024 * 1024]);
    let error = parse(&whole, Format::CloudConfig, &Metadata::default()).unwrap_err().to_string();
    let expected =
        "the bootstrap data cannot be read: the content is larger than 16777216 bytes after decompression";
    assert_eq!(error, expected);
    let large = vec![b'#'; 3 * 1024 * 1024 + 1];
    let error = parse(&large, Format::CloudConfig, &Metadata::default()).unwrap_err().to_string();
    assert_eq!(error, "the bootstrap data is larger than 3145728 bytes");
    // Aliases of aliases.
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let item = format!("*a{}, ", level - 1);
        text.push_str(&format!("a{level}: &a{level} [{}]\n", item.repeat(9)));
    }
    assert!(read(&text).is_err());
    assert!(read(&format!("runcmd: {}", "[".repeat(5000))).is_err());
    let many = format!("runcmd: [{}]", "a, ".repeat(10_001));
    assert_eq!(read(&many).unwrap_err().to_string(), "the bootstrap data has more than 10000 steps");
}

#[test]
fn what_a_node_does_not_do_is_a_warning() {
    let cases: [(&str, &[&str]); 9] = [
        ("ntp: {enabled: true, servers: [a]}", &["ntp: not applied, a node has the clock of its machine"]),
        ("ntp: {enabled: false}\nmounts: []\npackages: ~\nfinal_message: hello\ngrowpart: {mode: off}", &[]),
        ("hostname: node-1\nfqdn: node-1", &[]),
        ("hostname: other", &["hostname: not applied, a node has the name of its container"]),
        ("anything: 1", &["anything: not applied, nodes in containers know no such section"]),
        ("users: [default]", &["users[0]: not applied, a node has no default user"]),
        (
            "write_files: [{path: /x, source: {uri: 'http://x'}}]",
            &["write_files[0].source: not applied, nodes fetch no files: the file is left out"],
        ),
        (
            "write_files: [{path: /x, source: {uri: 'http://x'}, content: a}]",
            &["write_files[0].source: not applied, nodes fetch no files: its content is used"],
        ),
        (
            "packages: [a]\ndisk_setup: {/dev/sdb: {}}",
            &[
                "disk_setup: not applied, a node has no disks of its own",
                "packages: not applied, put the packages into the node image",
            ],
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(read(text).unwrap().warnings, expected, "{text}");
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place_and_without_values() {
    let cases = [
        (
            "#!/bin/sh\necho s3cret",
            "the bootstrap data is a script: only #cloud-config can be applied in a node",
        ),
        (
            "Content-Type: multipart/mixed",
            "the bootstrap data is a MIME message: only #cloud-config can be applied in a node",
        ),
        (
            "#include\nhttp://s3cret",
            "the bootstrap data is a list of addresses: only #cloud-config can be applied in a node",
        ),
        (
            "runcmd:\n- a\n- {s3cret: x}\n",
            "line 3 of the bootstrap data: the value must be a text or a list of texts",
        ),
        ("runcmd: s3cret\n", "line 1 of the bootstrap data: the value must be a list"),
        ("runcmd:\n- [a, [s3cret]]\n", "line 2 of the bootstrap data: the value must be "),
        ("runcmd: [s3cret\n", "line "),
        ("a: b\n\ts3cret: [\n", "line 1 of the bootstrap data: it is no YAML"),
        ("runcmd:\n- a\nruncmd:\n- s3cret\n", "line 3 of the bootstrap data: the name is there already"),
        ("- s3cret\n", "line 1 of the bootstrap data: the value must be "),
        ("write_files:\n- content: s3cret\n", "write_files[0].path: the path is missing"),
        (
            "write_files:\n- path: s3cret/x\n",
            "step 1 (write s3cret/x): the path must be absolute, as /etc/example",
        ),
        (
            "write_files:\n- {path: /a}\n- {path: /x, content: s3cret, encoding: s3cret}\n",
            "write_files[1]: /x: the encoding is not known: use text/plain, b64, gz or gz+b64",
        ),
        (
            "write_files:\n- {path: /x, content: 's3cret!', encoding: b64}\n",
            "write_files[0]: /x: the content is not base64",
        ),
        (
            "write_files:\n- {path: /x, content: aGVsbG8K, encoding: gz+b64}\n",
            "write_files[0]: /x: the content is not gzip",
        ),
        (
            "write_files:\n- {path: /x, content: aGVsbG8K, encoding: gz}\n",
            "write_files[0]: /x: the content is not gzip",
        ),
        (
            "write_files:\n- {path: /x, content: !!binary /w==}\n",
            "line 2 of the bootstrap data: the content is no text: ",
        ),
        (
            "write_files:\n- {path: /x, permissions: rw-s3cret}\n",
            "write_files[0].permissions: the mode must have octal digits, as '0640'",
        ),
        (
            "write_files:\n- {path: /x, permissions: '17777'}\n",
            "write_files[0].permissions: the mode must have octal",
        ),
        ("bootcmd: [[cloud-init-per, once, x]]", "bootcmd[0]: the command is empty"),
        ("runcmd: [[]]", "runcmd[0]: the command is empty"),
    ];
    for (text, expected) in cases {
        let error = read(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
        assert!(!error.replace("(write s3cret/x)", "").contains("s3cret"), "{text}: {error}");
    }
    assert_eq!(
        parse(b"a: \xff", Format::CloudConfig, &Metadata::default()).unwrap_err().to_string(),
        "the bootstrap data is not UTF-8"
    );
    assert_eq!("ignition".parse(), Ok(Format::Ignition));
    assert_eq!("".parse(), Ok(Format::CloudConfig));
    let error = "yaml".parse::<Format>().unwrap_err().to_string();
    assert_eq!(error, "the format \"yaml\" of the bootstrap data is not known: use cloud-config or ignition");
}

#[test]
fn secrets_are_in_no_debug_text() {
    let text = "write_files: [{path: /x, content: s3cret}]\nruncmd: [[echo, s3cret]]\nusers: [{name: u, passwd: s3cret}]";
    let mut bootstrap = read(text).unwrap();
    bootstrap
        .steps
        .iter_mut()
        .filter(|step| step.what.starts_with("echo"))
        .for_each(|step| step.what.clear());
    assert!(!format!("{bootstrap:?}").contains("s3cret"), "{bootstrap:?}");
}

#[test]
fn the_success_file_is_looked_for_if_it_is_mentioned() {
    let cases = [
        ("runcmd: [echo x]", false),
        ("runcmd: [echo x > /run/cluster-api/bootstrap-success.complete]", true),
        ("runcmd: [[touch, /run/cluster-api/bootstrap-success.complete]]", true),
        (
            "write_files: [{path: /x, content: touch /run/cluster-api/bootstrap-success.complete}]\nruncmd: [/x]",
            true,
        ),
    ];
    for (text, expected) in cases {
        let found = what(text).last().is_some_and(|what| what.starts_with("look for "));
        assert_eq!(found, expected, "{text}");
    }
}
