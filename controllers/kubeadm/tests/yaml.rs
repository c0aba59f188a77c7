//! YAML for cloud-init.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use kubeadm::cloudinit::yaml::{block, is_printable, quoted, scalar, single_quoted};

fn read(text: &str) -> String {
    let yaml = format!("-   content: {}\n    next: 1\n", block(text, 6));
    let value: serde_json::Value = serde_saphyr::from_str(&yaml).unwrap_or_else(|e| panic!("{yaml}: {e}"));
    value[0]["content"].as_str().unwrap().to_owned()
}

#[test]
fn blocks_read_back() {
    for text in [
        "a\n",
        "a\nb\n",
        "  a\nb\n",
        "\na\n",
        "a\n\n\n",
        "\ta\n",
        "a: b\n- c\n# d\n",
        "a\rb\n",
        "\u{7}",
        "a \u{7f}\u{85}\u{96}\u{9f} b\n",
        "a \u{2028}\u{2029}\u{feff}\u{fffe}\u{ffff} b\n",
        "",
        "  ",
        "\n",
    ] {
        assert_eq!(read(text), text, "{text:?}");
    }
    assert_eq!(read("a"), "a\n", "one line break at the end");
    assert_eq!(read("#!/bin/sh\r\na\r\n"), "#!/bin/sh\na\n", "lines end as on the host");
}

#[test]
fn scalars_read_back() {
    for text in [
        "a", "/etc/x", "true", "No", "1", "0640", "a: b", "a #b", "'", "\"", "*x", "{{ ds }}", "", "a ", "é",
        "1\u{96}3", "\u{85}", "\u{2028}", "\u{7f}", "\u{fffe}",
    ] {
        for written in [scalar(text), quoted(text), single_quoted(text)] {
            assert!(
                written.chars().all(|letter| is_printable(letter) && !letter.is_control()),
                "{written:?}"
            );
            let value: serde_json::Value = serde_saphyr::from_str(&format!("k: {written}\n")).unwrap();
            assert_eq!(value["k"].as_str(), Some(text), "{written}");
        }
    }
}
