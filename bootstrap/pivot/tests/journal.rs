//! Tests of `pivot::journal`.

use pivot::journal::{Header, MemoryDisk, Record};
use pivot::{Error, Journal};

fn header() -> Record {
    Record::Started(Header {
        id: "1".into(),
        source: "s".into(),
        target: "t".into(),
        target_name: String::new(),
        namespace: String::new(),
        keep_source: false,
    })
}

fn written() -> Vec<u8> {
    let disk = MemoryDisk::default();
    let mut journal = Journal::open(Box::new(disk.clone())).unwrap();
    for record in [header(), Record::Paused, Record::HandingOver, Record::HandedOver] {
        journal.append(record).unwrap();
    }
    disk.content()
}

#[test]
fn what_was_written_is_read() {
    let journal = Journal::open(Box::new(MemoryDisk::holding(written()))).unwrap();
    assert!(journal.state().handed_over);
    assert_eq!(journal.state().header.as_ref().unwrap().target, "t");
}

#[test]
fn a_torn_tail_counts_for_nothing_and_is_cut_off() {
    let content = written();
    let last = content[..content.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for length in last..content.len() {
        for zeros in [0, 3] {
            let mut torn = content[..length].to_vec();
            torn.extend(std::iter::repeat_n(0, zeros));
            let disk = MemoryDisk::holding(torn);
            let mut journal = Journal::open(Box::new(disk.clone())).unwrap();
            assert!(!journal.state().handed_over, "cut at {length}");
            assert_eq!(disk.content().len(), last);
            journal.append(Record::HandedOver).unwrap();
            assert!(Journal::open(Box::new(disk)).unwrap().state().handed_over);
        }
    }
}

#[test]
fn every_flipped_bit_of_whole_records_is_found() {
    let content = written();
    for index in 0..content.len() - 1 {
        let mut damaged = content.clone();
        damaged[index] ^= 1;
        let opened = Journal::open(Box::new(MemoryDisk::holding(damaged)));
        assert!(matches!(opened, Err(Error::Damaged { .. })), "byte {index}");
    }
}
