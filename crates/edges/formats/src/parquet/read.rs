//! Reads the files of a data set, one after the other.

use super::columns::{Column, Damage, Layout, Rows, whole};
use super::rows::{Ops, TxnRows};
use super::{HEADER, N_ROWS};
use crate::ReadError;
use crate::input::{Bytes, Input, Line, LineEnd};
use crate::sink::Sink;
use iso_history::PlaceUnit;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

/// So many rows are decoded at once: their columns fit in a cache.
const AT_ONCE: usize = 1 << 13;

/// Reads a stream. The end of a file says what is in it, so that all of it is read first.
pub(crate) fn read(input: &mut Input<'_>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let mut bytes = Vec::new();
    while input.peek()?.is_some() {
        let some = input.at_hand();
        let n = some.len();
        sink.meter().keep(n)?;
        bytes.extend_from_slice(some);
        input.advance(n);
    }
    let name = input.name().to_owned();
    read_parts(vec![(name, whole(bytes))], sink)
}

/// Reads files in this order.
pub(crate) fn read_files(paths: &[PathBuf], sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let mut parts = Vec::new();
    for path in paths {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|source| ReadError::Open { path: name.clone(), source })?;
        parts.push((name, file));
    }
    read_parts(parts, sink)
}

/// A file that was opened.
struct Part<R: ChunkReader> {
    name: String,
    file: SerializedFileReader<R>,
    layout: Layout,
}

fn read_parts<R: ChunkReader + 'static>(parts: Vec<(String, R)>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let mut opened = Vec::new();
    for (name, source) in parts {
        sink.source(&name, PlaceUnit::Txn);
        if let Some((file, layout)) = open(source, sink) {
            opened.push(Part { name, file, layout });
        }
    }
    check_rows(&opened, sink);
    read_headers(&opened, sink)?;
    let has_rare = |it: &Part<R>| Column::ALL.iter().any(|column| column.is_rare() && it.layout.has(*column));
    let ops = if opened.iter().any(has_rare) { Ops::Any } else { Ops::Plain };
    let mut rows = TxnRows::new(ops);
    let total: u64 = opened.iter().map(|it| n_rows(it.file.metadata())).sum();
    let mut done = 0;
    for part in &opened {
        sink.source(&part.name, PlaceUnit::Txn);
        rows.begin_file();
        match unharmed(|| read_part(part, &mut rows, sink, (done, total))) {
            Ok(result) => result?,
            Err(Damage(message)) => sink.error_without_place(message),
        }
        done += n_rows(part.file.metadata());
    }
    rows.finish(sink)
}

/// Opens a file; what is wrong with it is noted.
fn open<R: ChunkReader + 'static>(source: R, sink: &mut Sink<'_>) -> Option<(SerializedFileReader<R>, Layout)> {
    let file = match unharmed(|| SerializedFileReader::new(source).map_err(Damage::from)) {
        Ok(Ok(file)) => file,
        Ok(Err(damage)) | Err(damage) => {
            sink.error_without_place(damage.0);
            return None;
        }
    };
    match Layout::of(file.metadata().file_metadata().schema_descr()) {
        Ok(layout) => Some((file, layout)),
        Err(faults) => {
            for fault in faults {
                sink.error_without_place(fault);
            }
            None
        }
    }
}

/// The library that decodes files may panic on bytes that nobody would write; that is a defect of the file.
pub(super) fn unharmed<T>(decode: impl FnOnce() -> T) -> Result<T, Damage> {
    catch_unwind(AssertUnwindSafe(decode)).map_err(|_| Damage("the file is damaged: it cannot be decoded".to_owned()))
}

fn n_rows(metadata: &ParquetMetaData) -> u64 {
    u64::try_from(metadata.file_metadata().num_rows()).unwrap_or(0)
}

pub(super) fn metadata<'m>(metadata: &'m ParquetMetaData, name: &str) -> Option<&'m str> {
    let pairs = metadata.file_metadata().key_value_metadata()?;
    pairs.iter().find(|it| it.key == name)?.value.as_deref()
}

/// A file of a data set that says how many rows all files have together would be missed.
fn check_rows<R: ChunkReader + 'static>(parts: &[Part<R>], sink: &mut Sink<'_>) {
    let found: u64 = parts.iter().map(|it| n_rows(it.file.metadata())).sum();
    let expected = parts.iter().find_map(|it| metadata(it.file.metadata(), N_ROWS));
    let Some(expected) = expected.filter(|it| it.parse() != Ok(found)) else { return };
    sink.error_without_place(format!(
        "the metadata `{N_ROWS}` says that the data set has {expected} rows, but there are {found}: a file is missing, or one \
         too many; whoever changes rows on purpose takes that metadata away"
    ));
}

/// Reads the header; all files that have one must have the same.
fn read_headers<R: ChunkReader + 'static>(parts: &[Part<R>], sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let mut first: Option<&str> = None;
    for part in parts {
        let Some(header) = metadata(part.file.metadata(), HEADER) else { continue };
        match first {
            Some(first) if first != header => {
                sink.source(&part.name, PlaceUnit::Txn);
                let message = format!(
                    "the metadata `{HEADER}` is not that of the files before it; keep files of one history together"
                );
                sink.error_without_place(message);
            }
            Some(_) => {}
            None => {
                first = Some(header);
                sink.source(&format!("{}, metadata `{HEADER}`", part.name), PlaceUnit::Line);
                crate::jsonl::read_header(
                    Line { number: 1, bytes: header.as_bytes(), end: LineEnd::EndOfInput },
                    sink,
                )?;
            }
        }
    }
    Ok(())
}

/// Reads a file; the outer result is about what reading may take.
fn read_part<R: ChunkReader + 'static>(
    part: &Part<R>,
    rows: &mut TxnRows,
    sink: &mut Sink<'_>,
    (done, total): (u64, u64),
) -> Result<(), ReadError> {
    let mut done = done;
    for group in 0..part.file.num_row_groups() {
        let opened = part.file.get_row_group(group).map_err(Damage::from);
        let mut group = match opened.and_then(|it| Rows::new(&*it, &part.layout)) {
            Ok(group) => group,
            Err(Damage(message)) => {
                sink.error_without_place(message);
                return Ok(());
            }
        };
        loop {
            match group.next(AT_ONCE) {
                Ok(Some(chunk)) => {
                    sink.meter().hold(chunk.bytes())?;
                    sink.meter().report(done, Some(total))?;
                    rows.take(&chunk, sink)?;
                    done += chunk.n_rows as u64;
                }
                Ok(None) => break,
                Err(Damage(message)) => {
                    sink.error_without_place(message);
                    return Ok(());
                }
            }
        }
    }
    let expected = n_rows(part.file.metadata());
    let found: i64 = part.file.metadata().row_groups().iter().map(RowGroupMetaData::num_rows).sum();
    if u64::try_from(found) != Ok(expected) {
        sink.error_without_place(format!("the file is damaged: it says that it has {expected} rows, and has {found}"));
    }
    Ok(())
}
