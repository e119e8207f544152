//! Lines that are scanned in blocks and lines that are read one by one, as any JSON, say the same: the same history with
//! the same ids, the same defects at the same places.

use super::{read_blocks, read_lines};
use crate::input::Input;
use crate::meter::Meter;
use crate::sink::Sink;
use crate::{Format, ReadError, ReadOptions, Reading, finish, read_path, write};
use iso_history::PlaceUnit;
use proptest::prelude::*;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

fn read_with(
    bytes: &[u8],
    limit: Option<u64>,
    read: impl Fn(&mut Input<'_>, &mut Sink<'_>) -> Result<(), ReadError>,
) -> Reading {
    let options = ReadOptions { memory_limit: limit, ..ReadOptions::default() };
    let meter = Meter::new("test", &options);
    let mut input = Input::new("test", bytes, None, &meter).unwrap();
    input.head().unwrap();
    let mut sink = Sink::new(&meter);
    sink.source("test", PlaceUnit::Line);
    read(&mut input, &mut sink).unwrap();
    finish(Format::Jsonl, &mut input, sink).unwrap()
}

/// Everything that a reading says, ids included.
fn show(reading: &Reading) -> String {
    format!("{:?}\n{:?}", reading.defects, reading.history)
}

#[track_caller]
fn compare(bytes: &[u8]) {
    let expected = show(&read_with(bytes, None, read_lines));
    for size in [1, 100, 1000, 1 << 20] {
        let found = show(&read_with(bytes, None, |input, sink| read_blocks(input, sink, size)));
        assert!(found == expected, "{}\n{found}\n{expected}", String::from_utf8_lossy(bytes));
    }
}

const LINES: [&str; 19] = [
    r#"{"isoscope":1,"initial":0}"#,
    r#"{"s":0,"ops":[["w",18651,1],["r",2067,0],["w",16234,2]],"status":"commit"}"#,
    r#"{"s":1,"ops":[["r","x",0],["w","y",12]],"status":"abort","begin":1,"end":25}"#,
    r#"{"s":"client 1","ops":[["r",64,null],["w","x","y"],["r","naïve","žluť"]],"status":"unknown","begin":0,"end":null}"#,
    r#"{"end":7,"ops":[],"begin":-3,"status":"commit","s":-5}"#,
    r#"{"s": 3, "ops": [["r", 1, 2], ["w", 1, 3]], "status": "commit"}"#,
    r#"{"s":4,"ops":[["a","l",1],["r","l",[1,2]],["a","l",3]]}"#,
    r#"{"s":4,"ops":[["w",9223372036854775807,-9223372036854775808],["w",9223372036854775808,-9223372036854775809]]}"#,
    r#"{"s":4,"ops":[["w",1234567,12345678],["w",123456789,1234567890123456789],["w",-0,12345678901234567890]]}"#,
    r#"{"s":4,"ops":[["w",1.5,1e5],["w","a\"b","\u0078"],["w",null,0]],"more":{"x":[true]}}"#,
    r#"{"s":4,"ops":[["w",01,1]]}"#,
    r#"{"s":4,"ops":[["w",1,1]],"begin":5,"end":4}"#,
    r#"{"s":4,"ops":[["w",1,1]],"ops":[["w",1,2]],"s":5}"#,
    r#"{"s":null,"ops":[["w",1,1]]}  "#,
    r#"{"ops":[["w",1,1]]}"#,
    r#"{"s":4,"ops":[["r",1,1],["u",1,1,2],["stmt",[["r",1,2],["r",2,0]],"for update"],["del",1]]}"#,
    r#"{"s":4,"ops":[["w","t/1",1,"matches",["p"]],["scan","t","x < 3 or \"p\"",[["t/1",1],["t/2",{"x":1}]]]]}"#,
    r#"{"s":4,"ops":[["r","t/1",{"x":1,"y":null}],["omit","t/2","all"],["scan","t","all",[["t/1",1]],"part"]]}"#,
    "",
];

#[test]
fn every_kind_of_line_is_read_the_same() {
    let all = LINES.join("\n");
    compare(all.as_bytes());
    compare(all.replace('\n', "\r\n").as_bytes());
    for line in LINES {
        for end in ["", "\n", "\r\n", "\r", " \n", "\n\n \n"] {
            compare(format!("{}\n{line}{end}", LINES[0]).as_bytes());
            compare(format!("{}\n{}\n{line}{end}{}\n", LINES[0], LINES[1], LINES[2]).as_bytes());
            compare(format!("{line}{end}").as_bytes());
        }
    }
}

#[test]
fn every_cut_is_read_the_same() {
    for lines in [&LINES[..4], &LINES[3..8], &[LINES[0], LINES[9]]] {
        let whole = lines.join("\n");
        for n in 1..whole.len() {
            compare(&whole.as_bytes()[..n]);
        }
    }
}

#[test]
fn usual_lines_are_scanned() {
    for line in &LINES[1..6] {
        let lines = crate::input::Lines { bytes: line.as_bytes().to_vec(), kind: crate::input::LinesKind::Last };
        let scanned = super::Scanned::new(lines);
        assert!(matches!(scanned.items[..], [super::Item { what: super::What::Txn(_), .. }]), "{line}");
    }
}

#[test]
fn lines_beyond_the_limit_are_passed_over_the_same() {
    let limit = 1 << 20;
    let long = format!(r#"{{"s":1,"ops":[{}]}}"#, vec![r#"["w",1,2]"#; 60_000].join(","));
    let fits = format!(r#"{{"s":1,"ops":[{}]}}"#, vec![r#"["w",1,2]"#; 15_000].join(","));
    assert!(long.len() as u64 > limit / 2 && (fits.len() as u64) < limit / 2);
    for order in [[&long, &fits], [&fits, &long], [&long, &long], [&fits, &fits]] {
        for end in ["", "\n"] {
            let text = format!("{}\n{}\n{}\n{}{end}", LINES[0], order[0], LINES[1], order[1]);
            let expected = show(&read_with(text.as_bytes(), Some(limit), read_lines));
            for size in [1000, 100_000] {
                let found = read_with(text.as_bytes(), Some(limit), |input, sink| read_blocks(input, sink, size));
                assert_eq!(show(&found).len(), expected.len());
                assert!(show(&found) == expected);
            }
        }
    }
}

fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.map(|it| it.unwrap().path()) {
        if path.is_dir() {
            files(&path, ending, found);
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
}

#[test]
fn histories_of_the_corpus_are_read_the_same() {
    let mut found = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../corpus"), ".history", &mut found);
    assert!(!found.is_empty());
    for path in found {
        let Ok(reading) = read_path(&path, &ReadOptions::default()) else { continue };
        let Some(history) = reading.history else { continue };
        let mut bytes = Vec::new();
        write(&history, Format::Jsonl, &mut bytes).unwrap();
        compare(&bytes);
    }
}

#[test]
fn recorded_histories_are_read_the_same() {
    let mut found = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../corpus/recorded/realdb"), ".jsonl.gz", &mut found);
    assert!(!found.is_empty());
    for path in found {
        let mut bytes = Vec::new();
        flate2::read::MultiGzDecoder::new(fs::File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
        let expected = show(&read_with(&bytes, None, read_lines));
        assert!(expected == show(&read_with(&bytes, None, |input, sink| read_blocks(input, sink, 10_000))));
    }
}

/// Something to do to a line.
#[derive(Clone, Debug)]
enum Change {
    Delete(prop::sample::Index),
    Insert(prop::sample::Index, u8),
    Replace(prop::sample::Index, u8),
    Cut(prop::sample::Index),
}

fn change() -> impl Strategy<Value = Change> {
    let byte = prop_oneof![
        4 => prop::sample::select(b"{}[]\",:0123456789-+.eErwasnul \r\n\\\t".to_vec()),
        1 => any::<u8>(),
    ];
    let index = any::<prop::sample::Index>;
    prop_oneof![
        3 => index().prop_map(Change::Delete),
        3 => (index(), byte.clone()).prop_map(|(at, byte)| Change::Insert(at, byte)),
        4 => (index(), byte).prop_map(|(at, byte)| Change::Replace(at, byte)),
        1 => index().prop_map(Change::Cut),
    ]
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    if bytes.is_empty() {
        return;
    }
    match change {
        Change::Delete(at) => drop(bytes.remove(at.index(bytes.len()))),
        Change::Insert(at, byte) => bytes.insert(at.index(bytes.len()), *byte),
        Change::Replace(at, byte) => {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        Change::Cut(at) => bytes.truncate(at.index(bytes.len()).max(1)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_lines_are_read_the_same(
        lines in prop::collection::vec((1..LINES.len(), prop::collection::vec(change(), 0..3)), 1..5),
        has_header in prop::bool::weighted(0.9),
        is_ended in any::<bool>(),
    ) {
        let mut bytes = if has_header { format!("{}\n", LINES[0]).into_bytes() } else { Vec::new() };
        for (nth, changes) in lines {
            let mut line = LINES[nth].as_bytes().to_vec();
            for change in &changes {
                apply(&mut line, change);
            }
            bytes.extend(line);
            bytes.push(b'\n');
        }
        if !is_ended {
            bytes.pop();
        }
        if !bytes.is_empty() {
            compare(&bytes);
        }
    }

    #[test]
    fn integers_are_read_the_same(key in any::<i64>(), value in any::<i64>(), shift in 0..64u32, zeros in 0..3usize) {
        let zeros = "0".repeat(zeros);
        compare(format!("{}\n{{\"s\":1,\"ops\":[[\"w\",{},{zeros}{}]]}}\n", LINES[0], key >> shift, value >> shift).as_bytes());
    }
}

#[test]
fn the_origin_of_a_recording_comes_back_as_it_was_written() {
    let origin = r#"{"application":"bank","seed":7,"more":[1,{"x":"}"}]}"#;
    let text = format!("{{\"isoscope\":1, \"origin\" : {origin} ,\"initial\":0}}\n{{\"s\":0,\"ops\":[[\"r\",1,0]]}}\n");
    let reading = read_with(text.as_bytes(), None, read_lines);
    assert_eq!(reading.header.origin.as_deref(), Some(origin));
    let mut bytes = Vec::new();
    crate::write_recorded(&reading.history.unwrap(), origin, &mut bytes).unwrap();
    let again = read_with(&bytes, None, |input, sink| read_blocks(input, sink, 1));
    assert_eq!(again.header.origin.as_deref(), Some(origin));
    assert!(again.history.is_some() && bytes.ends_with(b"\n"));
}
