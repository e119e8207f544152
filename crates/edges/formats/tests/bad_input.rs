//! Bad input gives defects or errors: never a panic, never a shorter history in silence.

#![allow(
    clippy::unwrap_used,
    clippy::format_collect,
    reason = "a test fails by panicking, and may say why it was skipped"
)]

use iso_formats::{Format, ReadError, ReadOptions, Reading, Watch, read_from, read_path, write, write_path};
use iso_history::{History, Name, PlaceUnit, Severity};
use std::io::Write as _;

const SAMPLE: &str = "s1: { r(1,-) w(1,11) } { r(2,-) w(2,21) }\ns2: { r(1,11) w(1,12) } { r(2,21) }\n";

fn options(format: Format) -> ReadOptions<'static> {
    ReadOptions { format: Some(format), ..ReadOptions::default() }
}

fn read(bytes: &[u8], format: Format) -> Result<Reading, ReadError> {
    read_from("test", bytes, &options(format))
}

fn history(text: &str) -> History {
    read(text.as_bytes(), Format::Text).unwrap().into_history().unwrap()
}

/// A small file of each format.
fn sample(format: Format) -> Vec<u8> {
    let prefix = match format {
        Format::Dbcop | Format::Plume => "init *=0\n",
        _ => "",
    };
    let text = format!("{prefix}{SAMPLE}");
    let text = if prefix.is_empty() { text } else { text.replace('-', "0") };
    let history = history(&text);
    if format == Format::Cobra {
        let folder = tempfile::tempdir().unwrap();
        write_path(&history, format, &folder.path().join("logs")).unwrap();
        return std::fs::read(folder.path().join("logs/s1.log")).unwrap();
    }
    let mut bytes = Vec::new();
    write(&history, format, &mut bytes).unwrap();
    bytes
}

/// What only our own notations have.
fn sql_sample(format: Format) -> Vec<u8> {
    let text = "init t/1=1 matches \"p\" t/2={a: 1}\n\
                s1: { scan(t, a < 3 or not \"p\" and key in 1..2, {t/1=1}) u(t/1,1,2) matches \"p\" and \"q\" }\n\
                s2: { [ r(t/1,1) for update r(x,-) ] [ scan(t, all, {t/1=1}) del(t/1) ] for update }\n\
                s2: { omit(t/2, a in [1, 2]) scan(t, all, {t/1=1, ..}) for update }\n";
    let mut bytes = Vec::new();
    write(&history(text), format, &mut bytes).unwrap();
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

fn message(reading: &Reading) -> String {
    reading.defects.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// One defect is expected, with all of these words.
#[track_caller]
fn complains(bytes: &[u8], format: Format, words: &[&str]) {
    let reading = read(bytes, format).unwrap();
    let said = message(&reading);
    assert!(reading.history.is_none(), "{format}: {said}");
    for word in words {
        assert!(said.contains(word), "{format}: {word:?} is not in\n{said}");
    }
}

#[test]
fn an_empty_file_is_an_error() {
    for format in Format::ALL {
        assert!(matches!(read(b"", format), Err(ReadError::Empty { .. })), "{format}");
    }
    assert!(matches!(read_from("test", &b""[..], &ReadOptions::default()), Err(ReadError::Empty { .. })));
    assert!(matches!(read_from("test", &b" \n\n"[..], &ReadOptions::default()), Err(ReadError::Empty { .. })));
}

#[test]
fn a_history_without_transactions_is_fine() {
    assert_eq!(read(b"# nothing happened\n", Format::Text).unwrap().history.unwrap().n_txns(), 1);
    assert_eq!(read(b"{\"isoscope\":1}\n", Format::Jsonl).unwrap().history.unwrap().n_txns(), 1);
    assert_eq!(read(b"[]", Format::Elle).unwrap().history.unwrap().n_txns(), 1);
    assert_eq!(read(b"{\"data\":[]}", Format::DbcopJson).unwrap().history.unwrap().n_txns(), 1);
}

#[test]
fn what_elle_does_not_say_about_transactions_is_a_defect_with_its_line() {
    let nil =
        b"{:type :ok, :process 0, :f :txn, :value [[:w 1 2]]}\n{:type :ok, :process 0, :f nil, :value [[:w 1 2]]}\n";
    complains(nil, Format::Elle, &["line 2", "the :f of an operation must be :txn, not nil"]);
    let cas = b"{:type :invoke, :process 0, :f :cas, :value [1 2]}\n";
    complains(cas, Format::Elle, &["line 1", "must be :txn, not :cas"]);
    complains(
        b"{\"type\":\"ok\",\"process\":0,\"f\":null,\"value\":[]}",
        Format::ElleJson,
        &["must be :txn, not null"],
    );
    complains(b"{:type :ok, :process 0, :f :txn, :value :x}", Format::Elle, &["micro-operations", "found :x"]);
    complains(b"{:type :ok, :process 0, :f :txn}", Format::Elle, &["micro-operations", "found none"]);
}

#[test]
fn what_is_not_understood_is_shown_as_it_was_written() {
    let edn = b"{:type :ok, :process 0, :f :txn, :value [[:cas \"x\" [1 nil] {:a true}]]}";
    complains(edn, Format::Elle, &["found [:cas \"x\" [1 nil] {:a true}]"]);
    let json = b"{\"type\":\"ok\",\"process\":0,\"f\":\"txn\",\"value\":[[\"cas\",\"x\",[1,null],{\"a\":true}]]}";
    complains(json, Format::ElleJson, &["found [\"cas\",\"x\",[1,null],{\"a\":true}]"]);
}

#[test]
fn long_values_are_cut_in_messages() {
    let long = "v".repeat(100_000);
    let files = [
        (Format::Elle, format!("{{:type :ok, :process 0, :f :txn, :value [[:cas \"{long}\"]]}}")),
        (Format::Jsonl, format!("{{\"isoscope\":1}}\n{{\"s\":0,\"ops\":[],\"status\":\"{long}\"}}\n")),
        (
            Format::Jsonl,
            format!("{{\"isoscope\":1}}\n{{\"s\":0,\"ops\":[[\"w\",\"{long}\",1],[\"a\",\"{long}\",1]]}}\n"),
        ),
        (Format::Text, format!("init {long}=0 {long}=1\n")),
        (Format::DbcopJson, format!("{{\"data\":[[{{\"events\":[{{\"{long}\":0}}]}}]]}}")),
    ];
    for (format, text) in files {
        let said = message(&read(text.as_bytes(), format).unwrap());
        assert!(said.contains("more characters") && said.len() < 500, "{format}: {said}");
    }
}

#[test]
fn an_initial_value_is_given_beside_the_file_and_not_against_it() {
    let read = |text: &str, initial: i64| {
        let options = ReadOptions { initial: Some(Name::Int(initial)), ..ReadOptions::default() };
        read_from("test", text.as_bytes(), &options).unwrap()
    };
    let reading = read("{:type :ok, :process 0, :f :txn, :value [[:r 1 0] [:w 1 5]]}", 0);
    assert_eq!(reading.history.unwrap(), history("init *=0\n0: { r(1,0) w(1,5) }\n"));
    let said = message(&read("init *=1\ns1: { r(x,1) }\n", 0));
    assert!(said.contains("another initial value than --initial 0"), "{said}");
    assert!(read("init *=1\ns1: { r(x,1) }\n", 1).history.is_some());
    // A key of its own stays.
    assert_eq!(
        read("init x=1\ns1: { r(x,1) r(y,0) }\n", 0).history,
        Some(history("init x=1 y=0\ns1: { r(x,1) r(y,0) }\n"))
    );
}

/// Is a cut here one between two complete lines or records, which cannot be told from a shorter file?
fn is_honest_cut(format: Format, cut: &[u8], rest: &[u8]) -> bool {
    match format {
        Format::Dbcop | Format::Parquet => false,
        // The white space after the document is no part of it.
        Format::DbcopJson => rest == b"\n",
        // A complete record, or a transaction of unknown outcome.
        Format::Cobra => true,
        // Between two transactions; a line without its end is warned of.
        Format::Text => cut.ends_with(b"\n") || matches!(cut.trim_ascii_end().last(), Some(b'}' | b':')),
        _ => cut.ends_with(b"\n") || rest.starts_with(b"\n"),
    }
}

#[test]
fn every_cut_is_seen() {
    for format in Format::ALL {
        let whole = sample(format);
        let expected = read(&whole, format).unwrap().into_history().unwrap();
        for n in 1..whole.len() {
            let (cut, rest) = whole.split_at(n);
            let Ok(reading) = read(cut, format) else { continue };
            let Some(found) = reading.history else { continue };
            assert!(is_honest_cut(format, cut, rest), "{format} cut at {n} of {}", whole.len());
            assert!(found.n_txns() <= expected.n_txns());
            if format == Format::Text && !cut.ends_with(b"\n") {
                assert!(reading.defects.iter().any(|it| it.severity == Severity::Warning));
            }
        }
    }
}

#[test]
fn every_cut_of_a_cobra_log_is_at_a_record_or_seen() {
    let whole = sample(Format::Cobra);
    let n_whole = (1..whole.len()).filter(|n| read(&whole[..*n], Format::Cobra).unwrap().history.is_some()).count();
    // S R W C, twice, less the whole file.
    assert_eq!(n_whole, 7);
}

#[test]
fn every_cut_of_compressed_data_is_seen() {
    for whole in [gzip(&sample(Format::Jsonl)), zstd(&sample(Format::Jsonl))] {
        assert!(read_from("test", whole.as_slice(), &ReadOptions::default()).unwrap().history.is_some());
        for n in 1..whole.len() {
            if let Ok(reading) = read_from("test", &whole[..n], &ReadOptions::default()) {
                assert!(reading.history.is_none(), "cut at {n}");
                if n > 4 {
                    assert!(message(&reading).contains("damaged or cut short"), "cut at {n}: {}", message(&reading));
                }
            }
        }
    }
}

#[test]
fn several_gzip_members_and_zstd_frames_are_one_file() {
    let (first, second) = (b"{\"isoscope\":1}\n", b"{\"s\":1,\"ops\":[]}\n");
    for compress in [gzip, zstd] {
        let both = [compress(first), compress(second)].concat();
        assert_eq!(read_from("test", both.as_slice(), &ReadOptions::default()).unwrap().history.unwrap().n_txns(), 2);
        let garbage = [compress(first), b"garbage".to_vec()].concat();
        assert!(read_from("test", garbage.as_slice(), &ReadOptions::default()).unwrap().history.is_none());
    }
}

#[test]
fn a_bomb_meets_the_memory_limit() {
    for line in [&b"\n"[..], b"{\"s\":1,\"ops\":[]}\n"] {
        let mut plain = b"{\"isoscope\":1}\n".to_vec();
        plain.extend(line.repeat((8 << 20) / line.len()));
        for bomb in [gzip(&plain), zstd(&plain)] {
            assert!(bomb.len() < 100 << 10);
            let options = ReadOptions { memory_limit: Some(1 << 20), ..ReadOptions::default() };
            let result = read_from("test", bomb.as_slice(), &options);
            assert!(matches!(result, Err(ReadError::MemoryLimit { limit: 1_048_576, .. })));
        }
    }
}

#[test]
fn many_names_meet_the_memory_limit() {
    let names: String = (0..100_000).map(|it| format!("[\"w\",\"key{it}\",1],")).collect();
    let line = format!("{{\"isoscope\":1}}\n{{\"s\":1,\"ops\":[{}]}}\n", names.trim_end_matches(','));
    let options = ReadOptions { memory_limit: Some(6 << 20), ..ReadOptions::default() };
    let result = read_from("test", line.as_bytes(), &options);
    assert!(matches!(result, Err(ReadError::MemoryLimit { .. })));
    assert!(read_from("test", line.as_bytes(), &ReadOptions::default()).unwrap().history.is_some());
}

/// A short line stands for as many rows as the table has.
#[test]
fn rows_that_scans_did_not_return_meet_the_memory_limit() {
    let rows: String = (0..2_000).map(|it| format!("[\"t/{it}\",1],")).collect();
    let scans = "[\"scan\",\"t\",\"value = 1\",[]],".repeat(2_000);
    let (rows, scans) = (rows.trim_end_matches(','), scans.trim_end_matches(','));
    let text = format!("{{\"isoscope\":1,\"init\":[{rows}]}}\n{{\"s\":1,\"ops\":[{scans}]}}\n");
    let read = |limit: u64| {
        let options = ReadOptions { memory_limit: Some(limit), ..ReadOptions::default() };
        read_from("test", text.as_bytes(), &options)
    };
    assert!(matches!(read(32 << 20), Err(ReadError::MemoryLimit { .. })), "four million rows");
    assert_eq!(read(256 << 20).unwrap().history.unwrap().n_ops(), 4_000_000);
}

/// Bytes that never end, unless somebody counts.
struct Endless(u8, u64);

impl std::io::Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = (buffer.len() as u64).min(self.1) as usize;
        buffer[..n].fill(self.0);
        self.1 -= n as u64;
        Ok(n)
    }
}

#[test]
fn a_very_long_line_is_a_defect() {
    for format in [Format::Text, Format::Jsonl, Format::Plume, Format::IsoPredict, Format::ElleJson] {
        let options = ReadOptions { format: Some(format), memory_limit: Some(1 << 20), ..ReadOptions::default() };
        let reading = read_from("test", Endless(b'x', 64 << 20), &options).unwrap();
        assert!(reading.history.is_none());
        assert!(message(&reading).contains("line 1: the line is too long"), "{format}: {}", message(&reading));
    }
}

#[test]
fn a_very_long_string_or_number_is_a_defect() {
    let starts = [
        (Format::DbcopJson, "{\"info\":\""),
        (Format::DbcopJson, "{\"info\":1"),
        (Format::Elle, "{:a \""),
        (Format::Elle, "{:a "),
    ];
    for (format, start) in starts {
        let bytes = std::io::Read::chain(start.as_bytes(), Endless(b'7', 64 << 20));
        let reading = read_from("test", bytes, &options(format)).unwrap();
        assert!(message(&reading).contains("longer than"), "{format}: {}", message(&reading));
    }
}

#[test]
fn deep_nesting_is_a_defect() {
    let deep = "[".repeat(1_000_000);
    let cases = [
        (Format::Jsonl, format!("{{\"isoscope\":1,\"x\":{deep}")),
        (Format::DbcopJson, format!("{{\"params\":{deep}")),
        (Format::ElleJson, format!("{{\"type\":{deep}")),
        (Format::ElleJson, deep.clone()),
        (Format::Elle, format!("{{:value {deep}")),
        (Format::Elle, deep.clone()),
        (Format::Elle, "#_".repeat(1_000_000)),
        (Format::Elle, "{".repeat(1_000_000)),
    ];
    for (format, text) in cases {
        complains(text.as_bytes(), format, &["nested deeper than"]);
        // Recognition looks inside, too.
        survives(read_from("test", text.as_bytes(), &ReadOptions::default()));
    }
}

#[test]
fn lengths_that_lie_allocate_nothing() {
    let whole = sample(Format::Dbcop);
    // The lengths of the strings (the first has eight bytes), then the numbers of sessions, transactions and events.
    for at in [40, 56, 64, 72, 80, 88] {
        for lie in [i64::MAX, i64::MIN, -1, 1 << 40] {
            let mut bytes = whole.clone();
            bytes[at..at + 8].copy_from_slice(&lie.to_le_bytes());
            assert!(read(&bytes, Format::Dbcop).unwrap().history.is_none(), "{lie} at {at}");
        }
    }
}

#[test]
fn binary_defects_have_a_byte() {
    let mut bytes = sample(Format::Dbcop);
    bytes.push(0);
    let at = bytes.len() as u64 - 1;
    let reading = read(&bytes, Format::Dbcop).unwrap();
    assert_eq!(reading.defects[0].at, Some((at, PlaceUnit::Byte)));
    complains(&bytes, Format::Dbcop, &["expected the end of the file"]);
}

#[test]
fn a_directory_is_an_error_unless_it_has_logs() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(read_path(folder.path(), &ReadOptions::default()), Err(ReadError::Directory { .. })));
    std::fs::write(folder.path().join("T1.log"), sample(Format::Cobra)).unwrap();
    std::fs::write(folder.path().join("T2.log"), b"").unwrap();
    let history = read_path(folder.path(), &ReadOptions::default()).unwrap().into_history().unwrap();
    assert_eq!((history.n_sessions(), history.n_txns()), (2, 3));
    std::fs::write(folder.path().join("T3.log"), sample(Format::Cobra)).unwrap();
    let reading = read_path(folder.path(), &ReadOptions::default()).unwrap();
    assert!(message(&reading).contains("T3.log: byte 0: transaction 1 is there twice"), "{}", message(&reading));
}

#[test]
fn a_missing_file_is_an_error() {
    let error = read_path("no/such/file".as_ref(), &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("cannot open no/such/file"));
}

#[test]
fn what_is_not_recognised_says_what_was_tried() {
    let error = read_from("test", &b"hello world\n"[..], &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("hello world") && error.contains("isopredict") && error.contains("--from"), "{error}");
}

struct StopAt(u64);

impl Watch for StopAt {
    fn should_stop(&self) -> bool {
        true
    }

    fn progress(&self, bytes: u64, _: Option<u64>) {
        assert!(bytes <= self.0);
    }
}

#[test]
fn a_watch_can_stop() {
    let options = ReadOptions { watch: Some(&StopAt(1 << 20)), ..ReadOptions::default() };
    assert!(matches!(read_from("test", Endless(b'\n', u64::MAX), &options), Err(ReadError::Stopped { .. })));
}

#[test]
fn text_defects_point_at_the_place() {
    let cases = [
        ("s1: { r(x,0 }\n", "column 13: expected `)` after the value, found `}`"),
        ("s1 { r(x,0) }\n", "expected `:` after the name of the session"),
        ("{ r(x,0) }\n", "has no session"),
        ("s1: { r(x,0) } aborted\n", "expected `abort` or `unknown`"),
        ("s1: { r(x,007) }\n", "put it in quotes"),
        ("s1: { q(x,1) }\n", "`q` is no operation"),
        ("s1: { 7 }\n", "expected `r(key,value)`"),
        ("s1: { read(x,1) }\n", "`read` is no operation"),
        ("s1: { r(x,\"a) }\n", "no closing quote"),
        ("s1: { r(x,0) } @[5,2]\n", "ends at 2, before it begins at 5"),
        ("s1: { r(x,0) } @[a,2]\n", "a time must be a 64-bit integer"),
        ("init x=0 x=1\n", "given twice"),
        ("init *=0 *=1\n", "given twice"),
        ("init x\n", "expected `=`"),
        ("s1: { w(x,1) append(x,2) }\n", "used as a register and as a list"),
    ];
    for (text, words) in cases {
        complains(text.as_bytes(), Format::Text, &[words]);
    }
}

#[test]
fn jsonl_defects_have_a_line_and_a_cure() {
    let header = "{\"isoscope\":1}\n";
    let cases = [
        ("{\"s\":0,\"ops\":[]}\n".to_owned(), "line 1: the header is missing"),
        (format!("{header}{header}"), "line 2: column 15: a second header"),
        ("{\"isoscope\":9}\n".to_owned(), "version 9"),
        (format!("{header}{{\"ops\":[]}}\n"), "no session"),
        (format!("{header}{{\"s\":1}}\n"), "no operations"),
        (format!("{header}{{\"s\":1,\"ops\":[[\"x\",1,2]]}}\n"), "\"omit\" or \"stmt\", not \"x\""),
        (format!("{header}{{\"s\":1,\"ops\":[[\"w\",1,[2]]]}}\n"), "only a read"),
        (format!("{header}{{\"s\":1,\"ops\":[[\"w\",1,true]]}}\n"), "expected a string, a number or null"),
        (format!("{header}{{\"s\":1,\"ops\":[],\"status\":\"maybe\"}}\n"), "commit, abort or unknown"),
        (format!("{header}{{\"s\":1,\"ops\":[],\"begin\":1.5}}\n"), "64-bit integer"),
        (format!("{header}{{\"s\":1,\"ops\":[]}} x\n"), "expected the end"),
        (format!("{header}{{\"s\":\"\\ud800\",\"ops\":[]}}\n"), "surrogate"),
        (format!("{header}{{\"s\":01,\"ops\":[]}}\n"), "begins with 0"),
    ];
    for (text, words) in cases {
        complains(text.as_bytes(), Format::Jsonl, &[words]);
    }
}

#[test]
fn defects_of_statements_in_text_point_at_the_place() {
    let cases = [
        ("scan(t, all)", "column 18: expected `and`, `or`, or a comma and the rows that came back"),
        ("scan(t, all, t/1=5)", "column 20: expected `and`, `or`, or a comma and the rows that came back"),
        ("scan(t, balnce <, {})", "column 23: expected a value, found `,`"),
        (
            "scan(t, balance 10, {})",
            "column 23: expected `=`, `!=`, `<`, `<=`, `>`, `>=`, `in` or `mod` after the column balance",
        ),
        ("scan(t, {t/1=5})", "column 15: expected a predicate, such as `all`"),
        ("scan(1, all, {})", "column 12: expected the name of a table"),
        ("scan(t, all, {t/1})", "column 24: expected `=` and a value after the row"),
        ("scan(t, all, {t/1=5 t/2=6})", "column 27: expected `,` or `}` after a row"),
        ("scan(t, all, {..})", "column 21: expected a row, as in `accounts/1=5`"),
        ("scan(t, all, {t/1=5, t/1=6})", "line 1: a scan of t returned t/1 twice"),
        ("scan(t, all, {u/1=5})", "line 1: a scan of t returned u/1; its rows have names as t/1"),
        ("omit(x, all)", "column 12: expected a row of a table"),
        ("omit(t, u/1, all)", "column 12: expected a row of a table"),
        ("u(x,1)", "column 12: expected `,` and the new value after the old one"),
        ("[ r(x,1) [ r(y,1) ] ]", "column 16: expected an operation or `]`; a statement is no part of another one"),
        ("[ r(x,1) }", "column 16: expected `r(key,value)`, `w(key,value)`, `append(key,value)` or `]`"),
        ("[ r(x,1)", "expected an operation or `]`"),
        ("w(x,1) for update", "column 14: `for update` stands behind what reads"),
        ("r(x,1) for share", "column 14: expected `for update`"),
        ("[ scan(t, all, {}) for update ]", "column 26: `for update` stands behind the `]`"),
        ("w(x,1) matches p", "column 22: expected a predicate in quotes"),
        ("del(x,1)", "column 12: expected `)` after the key of the row"),
        ("w(x,{a: 1, a: 2})", "column 18: the field a is given twice"),
        ("w(x,{a: {b: 1}})", "column 15: expected a word, a number, a text in quotes or `-`; records have no records"),
        ("w({a: 1},1)", "column 9: expected a key"),
    ];
    for (op, words) in cases {
        let open = if op.ends_with('}') && op.starts_with('[') || op == "[ r(x,1)" { "" } else { " }" };
        complains(format!("s1: {{ {op}{open}\n").as_bytes(), Format::Text, &[words]);
    }
}

#[test]
fn defects_of_statements_in_jsonl_have_a_line_and_a_cure() {
    let cases = [
        (r#"["scan","t","all"]"#, "expected `,`, found `]`"),
        (r#"["scan","t","all",{"t/1":5}]"#, "expected the rows that came back"),
        (
            r#"["scan","t","balance <",[]]"#,
            "the predicate \"balance <\": character 10: expected a value, found its end",
        ),
        (r#"["scan","t",5,[]]"#, "expected `\"`"),
        (r#"["scan","t","all",[["t/1"]]]"#, "expected `,`, found `]`"),
        (r#"["scan","t","all",[],"part"]"#, "at least one row"),
        (r#"["scan","t","all",[],"more"]"#, "expected \"part\" or \"for update\" after the rows"),
        (r#"["scan","t","all",[["t/1",1],["t/1",1]]]"#, "returned t/1 twice"),
        (r#"["scan","t","all",[["u/1",1]]]"#, "its rows have names as t/1"),
        (r#"["omit","t/1"]"#, "expected a row of a table and a predicate"),
        (r#"["omit","t","u/1","all"]"#, "expected a row of a table and a predicate"),
        (r#"["omit","t/1","x =="]"#, "character 4: expected a value, found `=`"),
        (r#"["u","x",1]"#, "expected `,`, found `]`"),
        (r#"["u","x",[1],2]"#, "only a read may have a list"),
        (r#"["stmt",[["stmt",[]]]]"#, "a statement is no part of another one"),
        (r#"["stmt",[["r","x",1]],"for share"]"#, "expected \"for update\""),
        (r#"["stmt",[["scan","t","all",[],"for update"]]]"#, "at the end of the statement"),
        (r#"["w","x",1,"for update"]"#, "expected \"matches\""),
        (r#"["w","x",1,"matches","p"]"#, "expected `[`"),
        (r#"["w","x",{"a":{"b":1}}]"#, "expected a string, a number or null"),
        (r#"["w","x",{"a":1,"a":2}]"#, "the field \"a\" is given twice"),
        (r#"["w",{"a":1},1]"#, "expected a string, a number or null"),
    ];
    for (op, words) in cases {
        let text = format!("{{\"isoscope\":1}}\n{{\"s\":1,\"ops\":[{op}]}}\n");
        complains(text.as_bytes(), Format::Jsonl, &["line 2", words]);
    }
}

#[test]
fn jsonl_takes_any_legal_json() {
    let lines = "\u{20}{ \"initial\" : 1.50 , \"x\":{\"y\":[true,false,null,1e5]}, \"isoscope\":1}\r\n\n\
                 {\"end\":7,\"status\":\"abort\",\"ops\":[ [ \"r\" , \"\\u0078\\ud83d\\ude00\\n\\/\" , -12345678901234567890 ] ],\"begin\":null,\"s\":\"a b\"}\n";
    let history = read(lines.as_bytes(), Format::Jsonl).unwrap().into_history().unwrap();
    let op = history.ops(history.txns().next().unwrap()).next().unwrap();
    assert_eq!(history.render_op(op), "r(\"x\u{1f600}\\n/\",-12345678901234567890)");
    let initial = history.value(history.initial_value(history.op(op).key()));
    assert_eq!(initial.to_string(), "1.50");
}

#[test]
fn other_formats_say_what_they_expected() {
    complains(b"r(1,2,3)\n", Format::Plume, &["line 1", "r(key,value,session,txn)"]);
    complains(b"r(1,0,1,1)\nr(1,0,1,2)\nr(1,0,1,1)\n", Format::Plume, &["line 3", "numbers must not repeat"]);
    complains(b"READ KEY[1] Txn(1, 0)\n", Format::IsoPredict, &["line 1", "From(s, t)"]);
    complains(b"{:type :ok}\n", Format::Elle, &["line 1", ":process"]);
    complains(b"{:type :ok :process 1 :value [[:x 1 2]]}\n", Format::Elle, &["[:append key value]"]);
    complains(b"{:type :maybe :process 1}\n", Format::Elle, &[":type of invoke, ok, fail or info"]);
    complains(b"[{:type :ok :process 1 :value []}", Format::Elle, &["cut short"]);
    complains(b"{\"params\":{}}", Format::DbcopJson, &["\"data\""]);
    complains(b"{\"data\":[[{\"events\":[]}]]}", Format::DbcopJson, &["committed"]);
    complains(b"Sxxxxxxxx?", Format::Cobra, &["byte 9", "expected a record"]);
    complains(b"Wxxxxxxxxyyyyyyyyzzzzzzzz", Format::Cobra, &["byte 0", "outside of a transaction"]);
}

#[test]
fn many_defects_are_counted() {
    let reading = read("x\n".repeat(100).as_bytes(), Format::Plume).unwrap();
    assert_eq!(reading.defects.len(), 21);
    assert_eq!(reading.defects[20].message, "and 80 more");
}

/// A small random generator: the tests must be the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

/// What was read, if anything, can be written in our notations and read again.
fn survives(result: Result<Reading, ReadError>) {
    let Some(history) = result.ok().and_then(|it| it.history) else { return };
    for format in [Format::Text, Format::Jsonl, Format::Parquet] {
        let mut bytes = Vec::new();
        write(&history, format, &mut bytes).unwrap();
        if let Ok(again) = read(&bytes, format) {
            assert_eq!(again.history.as_ref(), Some(&history), "{}", String::from_utf8_lossy(&bytes));
        }
    }
}

#[test]
fn no_bytes_make_a_reader_panic() {
    const ALPHABET: &[u8] = b"\0\xff\"\\{}[](),:#@ \n019-.eSWRCrw\xc3\x28";
    let mut dice = Dice(0x1505);
    let ours = [Format::Text, Format::Jsonl, Format::Parquet].map(|it| (it, sql_sample(it)));
    for (format, whole) in Format::ALL.map(|it| (it, sample(it))).into_iter().chain(ours) {
        for _ in 0..4000 {
            let mut bytes = whole.clone();
            for _ in 0..=dice.roll(4) {
                let at = dice.roll(bytes.len());
                match dice.roll(4) {
                    0 => bytes[at] = ALPHABET[dice.roll(ALPHABET.len())],
                    1 => bytes[at] = dice.roll(256) as u8,
                    2 => {
                        bytes.remove(at);
                    }
                    _ => bytes.insert(at, ALPHABET[dice.roll(ALPHABET.len())]),
                }
            }
            survives(read(&bytes, format));
            survives(read_from("test", bytes.as_slice(), &ReadOptions::default()));
        }
        for _ in 0..500 {
            let noise: Vec<u8> = (0..dice.roll(200)).map(|_| dice.roll(256) as u8).collect();
            survives(read(&noise, format));
        }
    }
    for whole in [gzip(&sample(Format::Jsonl)), zstd(&sample(Format::Jsonl))] {
        for _ in 0..4000 {
            let mut bytes = whole.clone();
            let at = dice.roll(bytes.len());
            bytes[at] = dice.roll(256) as u8;
            survives(read_from("test", bytes.as_slice(), &ReadOptions::default()));
        }
    }
}
