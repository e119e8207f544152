//! Parquet data sets that other tools wrote, or damaged: defects with their reason, and never a shorter history.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use iso_formats::{Format, ReadOptions, Reading, read_from, read_path, write, write_path};
use iso_history::{History, PlaceUnit};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// The cells of a column that somebody else wrote.
enum Cells<'c> {
    Ints(&'c [Option<i64>]),
    Small(&'c [i32]),
    Texts(&'c [Option<&'c str>]),
    Floats(&'c [f64]),
}

fn file(columns: &[(&str, Cells<'_>)]) -> Vec<u8> {
    let declare = |(name, cells): &(&str, Cells<'_>)| match cells {
        Cells::Ints(_) => format!("optional int64 {name};"),
        Cells::Small(_) => format!("required int32 {name};"),
        Cells::Texts(_) => format!("optional binary {name} (UTF8);"),
        Cells::Floats(_) => format!("required double {name};"),
    };
    let declared: String = columns.iter().map(declare).collect();
    let schema = Arc::new(parse_message_type(&format!("message other {{ {declared} }}")).unwrap());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(WriterProperties::new())).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for (_, cells) in columns {
        let mut column = group.next_column().unwrap().unwrap();
        match cells {
            Cells::Ints(cells) => {
                let levels: Vec<i16> = cells.iter().map(|it| i16::from(it.is_some())).collect();
                let values: Vec<i64> = cells.iter().copied().flatten().collect();
                column.typed::<Int64Type>().write_batch(&values, Some(&levels), None).unwrap();
            }
            Cells::Small(cells) => {
                column.typed::<Int32Type>().write_batch(cells, None, None).unwrap();
            }
            Cells::Floats(cells) => {
                column.typed::<DoubleType>().write_batch(cells, None, None).unwrap();
            }
            Cells::Texts(cells) => {
                let levels: Vec<i16> = cells.iter().map(|it| i16::from(it.is_some())).collect();
                let values: Vec<ByteArray> = cells.iter().copied().flatten().map(ByteArray::from).collect();
                column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None).unwrap();
            }
        }
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    bytes
}

fn read(bytes: &[u8]) -> Reading {
    read_from("test", bytes, &ReadOptions::default()).unwrap()
}

fn text(text: &str) -> History {
    read_from("test", text.as_bytes(), &ReadOptions::default()).unwrap().into_history().unwrap()
}

#[track_caller]
fn complains(bytes: &[u8], message: &str) {
    let reading = read(bytes);
    assert!(reading.history.is_none());
    let said: Vec<String> = reading.defects.iter().map(ToString::to_string).collect();
    assert!(said.iter().any(|it| it.contains(message)), "{message:?} is not in {said:#?}");
}

const KINDS: &[Option<&str>] = &[Some("r"), Some("w"), Some("r")];

/// What a table of another tool needs at least: three rows, two transactions.
fn small<'c>(extra: (&'c str, Cells<'c>)) -> Vec<(&'c str, Cells<'c>)> {
    let mut columns = vec![
        ("txn", Cells::Small(&[3, 3, 9])),
        ("session", Cells::Ints(&[Some(1), Some(1), Some(2)])),
        ("kind", Cells::Texts(KINDS)),
        ("key", Cells::Texts(&[Some("x"), Some("x"), Some("x")])),
        ("value", Cells::Ints(&[None, Some(7), Some(7)])),
    ];
    match columns.iter_mut().find(|it| it.0 == extra.0) {
        Some(column) => *column = extra,
        None => columns.push(extra),
    }
    columns
}

#[test]
fn five_columns_are_enough() {
    let reading = read(&file(&small(("note", Cells::Texts(&[None, None, Some("mine")])))));
    let history = reading.into_history().unwrap();
    assert_eq!(history, text("1: { r(x,-) w(x,7) }\n2: { r(x,7) }\n"));
    let places: Vec<u64> = history.txns().map(|it| history.place(it).at).collect();
    assert_eq!(places, [3, 9]);
    assert_eq!(history.source(history.place(history.txns().next().unwrap())), Some(("test", PlaceUnit::Txn)));
}

#[test]
fn texts_are_what_they_spell() {
    let values = [Some("7"), Some("\"7\""), Some("hello world")];
    let history = read(&file(&small(("value", Cells::Texts(&values))))).into_history().unwrap();
    assert_eq!(history, text("1: { r(x,7) w(x,\"7\") }\n2: { r(x,\"hello world\") }\n"));
}

#[test]
fn what_is_missing_or_of_another_type_is_named() {
    let mut columns = small(("value", Cells::Floats(&[1.0, 2.0, 3.0])));
    complains(&file(&columns), "the column `value` is of type DOUBLE; expected integers or texts");
    columns.remove(4);
    complains(&file(&columns), "there is no column `value`; the columns are txn, session, kind, key");
    complains(&file(&small(("txn", Cells::Texts(KINDS)))), "the column `txn` is of type BYTE_ARRAY; expected integers");
}

#[test]
fn rows_that_do_not_fit_are_named() {
    complains(&file(&small(("txn", Cells::Small(&[9, 9, 3])))), "row 3: transaction 3 comes after 9");
    complains(&file(&small(("txn", Cells::Ints(&[Some(1), None, Some(2)])))), "row 2: there is no number");
    let sessions = Cells::Ints(&[Some(1), Some(2), Some(2)]);
    complains(
        &file(&small(("session", sessions))),
        "row 2: the rows of transaction 3 have different cells in `session`",
    );
    complains(&file(&small(("session", Cells::Ints(&[None, None, Some(2)])))), "row 1: transaction 3 has no `session`");
    complains(&file(&small(("end", Cells::Ints(&[Some(5), Some(6), Some(9)])))), "different cells in `end`");
    complains(&file(&small(("op", Cells::Small(&[1, 0, 0])))), "operation 0 of transaction 3 comes after 1");
    let kinds = Cells::Texts(&[Some("r"), Some("write"), Some("r")]);
    complains(&file(&small(("kind", kinds))), "row 2: the kind must be r, w, a, list, scan, omit, txn or init, not");
    let states = Cells::Texts(&[Some("commit"), Some("commit"), Some("ok")]);
    complains(&file(&small(("status", states))), "row 3: the status must be commit, abort or unknown, not \"ok\"");
}

#[test]
fn a_data_set_is_a_directory_of_files() {
    let folder = tempfile::tempdir().unwrap();
    let history = text("init x=0 l/1=2\n1: { r(x,0) w(x,1) } @[1,2]\n2: { r(x,1) } @[3,4]\n3: { } abort\n");
    let path = folder.path().join("set.parquet");
    write_path(&history, Format::Parquet, &path).unwrap();
    let reading = read_path(&path, &ReadOptions::default()).unwrap();
    assert_eq!(reading.format, Format::Parquet);
    assert_eq!(reading.into_history().unwrap(), history);
    assert!(write_path(&history, Format::Parquet, &path).is_err(), "data sets must not be mixed");
    fs::write(path.join("_SUCCESS"), "").unwrap();
    fs::write(path.join(".part.crc"), "x").unwrap();
    assert_eq!(read_path(&path, &ReadOptions::default()).unwrap().into_history().unwrap(), history);
    let part = path.join("part-00000.parquet");
    assert_eq!(read_path(&part, &ReadOptions::default()).unwrap().into_history().unwrap(), history);
    fs::copy(&part, path.join("part-00001.parquet")).unwrap();
    let doubled = read_path(&path, &ReadOptions::default()).unwrap();
    assert!(doubled.defects.iter().any(|it| it.message.contains("a file is missing, or one too many")), "{doubled:?}");
}

#[test]
fn a_transaction_may_go_on_in_the_next_file() {
    let folder = tempfile::tempdir().unwrap();
    let part = |name: &str, bytes: Vec<u8>| fs::write(folder.path().join(name), bytes).unwrap();
    part("a.parquet", file(&small(("note", Cells::Texts(KINDS)))));
    part("b.parquet", file(&small(("txn", Cells::Small(&[9, 10, 11])))));
    let reading = read_path(folder.path(), &ReadOptions::default()).unwrap();
    assert!(reading.defects.iter().any(|it| it.message.contains("transaction 9 have different cells in `session`")));
    part("b.parquet", file(&small(("session", Cells::Ints(&[Some(2), Some(2), Some(2)])))));
    let lower = read_path(folder.path(), &ReadOptions::default()).unwrap();
    assert!(lower.defects.iter().any(|it| it.message.contains("transaction 3 comes after 9")), "{lower:?}");
}

#[test]
fn headers_of_files_must_agree() {
    let folder = tempfile::tempdir().unwrap();
    for (name, history) in [("a", "init x=0\n1: { r(x,0) }\n"), ("b", "init x=1\n1: { r(x,1) }\n")] {
        let mut bytes = Vec::new();
        write(&text(history), Format::Parquet, &mut bytes).unwrap();
        fs::write(folder.path().join(format!("{name}.parquet")), bytes).unwrap();
    }
    let reading = read_path(folder.path(), &ReadOptions::default()).unwrap();
    assert!(reading.defects.iter().any(|it| it.message.contains("keep files of one history together")));
    assert!(reading.history.is_none());
}

/// Each of them wrote the same table.
#[test]
fn files_of_other_tools_are_read() {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../corpus/recorded/parquet");
    let expected = text("s1: { r(x,-) w(x,1) } @[10,20]\ns2: { r(x,1) w(y,\"two words\") } abort @[12,22]\n");
    for name in ["pyarrow", "polars", "duckdb", "spark"] {
        let path = recorded.join(format!("{name}.parquet"));
        let history = read_path(&path, &ReadOptions::default()).unwrap().into_history().unwrap();
        assert_eq!(history, expected, "{name}");
    }
    let defects =
        read_path(&recorded.join("polars-zstd.parquet"), &ReadOptions::default()).unwrap().into_history().unwrap_err();
    assert!(defects[0].message.contains("compressed with ZSTD; write it with SNAPPY"), "{defects:?}");
}
