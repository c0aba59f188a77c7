//! Tests of `deploy::checksum`.

use agent::testing::Checksum;

const SHA256_OF_ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const MD5_OF_ABC: &str = "900150983cd24fb0d6963f7d28e17f72";
const SHA512_OF_ABC: &str = "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f";

#[test]
fn sums_of_each_kind() {
    for (sum, kind) in [(SHA256_OF_ABC, "sha256"), (MD5_OF_ABC, "md5"), (SHA512_OF_ABC, "sha512")] {
        for kind in [kind, "auto", ""] {
            let checksum = Checksum::read(&sum.to_uppercase(), kind).unwrap();
            let mut hasher = checksum.hasher();
            hasher.update(b"a");
            hasher.update(b"bc");
            checksum.verify(hasher).unwrap();
            let error = checksum.verify(checksum.hasher()).unwrap_err().to_string();
            assert!(error.contains(sum), "{error}");
        }
    }
    for (wrong, kind) in [("abc", ""), (SHA256_OF_ABC, "md5"), ("nothing", ""), (MD5_OF_ABC, "crc")] {
        assert!(Checksum::read(wrong, kind).is_err(), "{wrong}");
    }
}

#[test]
fn files_of_sums() {
    let url = "http://images/debian/disk.raw?x=1";
    let files = [
        format!("{SHA256_OF_ABC}\n"),
        format!("{MD5_OF_ABC}  other.raw\n{SHA256_OF_ABC}  disk.raw\n"),
        format!("# sums\n{SHA256_OF_ABC} *./disk.raw"),
        format!("MD5 (disk.raw) = {MD5_OF_ABC}\nSHA256 (disk.raw) = {SHA256_OF_ABC}\n"),
    ];
    let expected = Checksum::read(SHA256_OF_ABC, "").unwrap();
    for file in files {
        assert_eq!(Checksum::find(&file, url, "sha256").unwrap(), expected, "{file}");
    }
    let none = Checksum::find(&format!("{SHA256_OF_ABC}  other.raw\n"), url, "").unwrap_err().to_string();
    assert!(none.contains("none for disk.raw"), "{none}");
    assert!(Checksum::find("", url, "").is_err());
}
