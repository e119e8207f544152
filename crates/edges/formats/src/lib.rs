//! Bytes to histories and back, in our own notations and every foreign format.
//!
//! [`read_path`] and [`read_from`] recognise the format by content, open what is compressed, and give a [`Reading`]:
//! the history, or what is wrong with it and where. Reading goes on after a defect where that makes sense. `Err` means
//! that there was nothing to read: no file, no known format, no memory, no time.
//!
//! Every reader has a writer. A writer refuses what its format has no way to say.
//!
//! ```
//! use iso_formats::{Format, ReadOptions, read_from, write};
//! let text = "init x=0\ns1: { r(x,0) w(x,1) }\ns2: { r(x,1) }\n";
//! let reading = read_from("example", text.as_bytes(), &ReadOptions::default()).unwrap();
//! let history = reading.into_history().unwrap();
//! let mut bytes = Vec::new();
//! write(&history, Format::Text, &mut bytes).unwrap();
//! assert_eq!(bytes, text.as_bytes());
//! ```

mod batch;
mod binary;
mod cobra;
mod compression;
mod copy;
mod cut;
mod data_set;
mod dbcop;
mod dbcop_json;
mod elle;
mod fault;
mod form;
mod format;
mod input;
mod isopredict;
mod json;
mod jsonl;
mod layout;
mod meter;
mod number;
mod ops;
#[cfg(feature = "parquet")]
mod parquet;
mod pipeline;
mod plume;
mod predicate;
mod reading;
mod recognise;
mod recorded;
mod restricted;
mod sink;
mod text;
mod words;
mod write;

pub use copy::{with_updates_apart, without_times};
pub use data_set::DataSet;
#[cfg(feature = "parquet")]
pub use data_set::{spelled, survey};
pub use format::Format;
pub use jsonl::{
    EndOfStream, Pace, RECORDING_END, RawOp, RawScan, RawTxn, RecordingHeader, StreamedEnd, StreamedHeader,
    StreamedNames, TakeTxns, TellLines, ToldLines, TxnLines, WrittenValues, final_line, initial_line, stream_bytes,
    stream_told, stream_txns,
};
pub use meter::DEFAULT_MEMORY_LIMIT;
pub use predicate::predicate_of;
pub use reading::{
    CobraIdentity, Expectation, Header, ReadError, ReadOptions, Reading, RecordedFault, Watch, value_of_word,
};
pub use recorded::RecordedDatabase;
pub use restricted::read_keys;
pub use write::WriteError;

use compression::Compression;
use fault::Fault;
use input::Input;
use iso_history::{Defect, History, PlaceUnit, Severity};
use meter::Meter;
use sink::Sink;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// Reads a file, a directory of Cobra logs, or a directory of Parquet files.
pub fn read_path(path: &Path, options: &ReadOptions<'_>) -> Result<Reading, ReadError> {
    let name = path.display().to_string();
    let open_error = |source| ReadError::Open { path: name.clone(), source };
    let about = fs::metadata(path).map_err(open_error)?;
    if about.is_dir() {
        return read_directory(path, &name, options);
    }
    #[cfg(feature = "parquet")]
    if about.is_file() && about.len() > 0 && is_parquet(path, options).map_err(open_error)? {
        return read_data_set(&[path.to_owned()], &name, options);
    }
    let file = File::open(path).map_err(open_error)?;
    // Only regular files have a size that says how much is to come.
    let size = about.is_file().then_some(about.len());
    read_sized(&name, file, size, options)
}

fn read_directory(path: &Path, name: &str, options: &ReadOptions<'_>) -> Result<Reading, ReadError> {
    let open_error = |source| ReadError::Open { path: name.to_owned(), source };
    let parts = files(path, Format::Parquet.extension()).map_err(open_error)?;
    if !parts.is_empty() && options.format.is_none_or(|it| it == Format::Parquet) {
        return read_data_set(&parts, name, options);
    }
    let logs = files(path, Format::Cobra.extension()).map_err(open_error)?;
    if logs.is_empty() || options.format.is_some_and(|it| it != Format::Cobra) {
        return Err(ReadError::Directory { path: name.to_owned() });
    }
    let meter = Meter::new(name, options);
    let mut sink = Sink::new(&meter);
    cobra::read_directory(&logs, &meter, &mut sink, options.cobra_identity)?;
    options.initial.map_or(Ok(()), |it| sink.known_initial(it))?;
    sink.finish(Format::Cobra)
}

#[cfg(feature = "parquet")]
fn read_data_set(parts: &[PathBuf], name: &str, options: &ReadOptions<'_>) -> Result<Reading, ReadError> {
    let meter = Meter::new(name, options);
    let mut sink = Sink::new(&meter);
    parquet::read_files(parts, &mut sink)?;
    options.initial.map_or(Ok(()), |it| sink.known_initial(it))?;
    sink.finish(Format::Parquet)
}

#[cfg(not(feature = "parquet"))]
fn read_data_set(_: &[PathBuf], name: &str, _: &ReadOptions<'_>) -> Result<Reading, ReadError> {
    Err(ReadError::WithoutParquet { name: name.to_owned() })
}

/// Is it to be read as Parquet? The end of such a file is read first, so that it cannot be a stream.
#[cfg(feature = "parquet")]
fn is_parquet(path: &Path, options: &ReadOptions<'_>) -> io::Result<bool> {
    if let Some(format) = options.format {
        return Ok(format == Format::Parquet);
    }
    let mut head = Vec::new();
    File::open(path)?.take(4).read_to_end(&mut head)?;
    Ok(recognise::recognise(&head) == Some(Format::Parquet))
}

/// The files of a directory with that ending, by name. Hidden ones are notes of other tools.
fn files(directory: &Path, ending: &str) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory)?.map(|it| it.map(|it| it.path()));
    let mut paths = entries.collect::<io::Result<Vec<PathBuf>>>()?;
    let is_hidden = |it: &Path| it.file_name().is_some_and(|it| it.as_encoded_bytes().starts_with(b"."));
    paths.retain(|it| it.extension() == Some(OsStr::new(ending)) && it.is_file() && !is_hidden(it));
    paths.sort();
    Ok(paths)
}

/// Reads a stream. The name is for messages.
pub fn read_from(source_name: &str, reader: impl Read, options: &ReadOptions<'_>) -> Result<Reading, ReadError> {
    read_sized(source_name, reader, None, options)
}

fn read_sized(
    name: &str,
    reader: impl Read,
    size: Option<u64>,
    options: &ReadOptions<'_>,
) -> Result<Reading, ReadError> {
    let meter = Meter::new(name, options);
    let mut input = Input::new(name, reader, size, &meter)?;
    let head = input.head()?;
    let (is_blank, format) = (head.iter().all(u8::is_ascii_whitespace), recognise::recognise(head));
    let (found, is_saved_answer) = (fault::first_bytes(head), recognise::is_saved_answer(head));
    if is_blank && input.is_all_at_hand() && input.damage().is_none() {
        return Err(ReadError::Empty { name: name.to_owned() });
    }
    if is_saved_answer {
        return Err(ReadError::SavedAnswer { name: name.to_owned() });
    }
    let Some(format) = options.format.or(format).or(input.damage().is_some().then_some(Format::Text)) else {
        return Err(ReadError::NotRecognised { name: name.to_owned(), found, tried: recognise::tried() });
    };
    let mut sink = Sink::new(&meter);
    sink.source(name, unit(format));
    dispatch(format, &mut input, &mut sink, options)?;
    options.initial.map_or(Ok(()), |it| sink.known_initial(it))?;
    finish(format, &mut input, sink)
}

fn unit(format: Format) -> PlaceUnit {
    match format {
        Format::Dbcop | Format::Cobra => PlaceUnit::Byte,
        Format::Parquet => PlaceUnit::Txn,
        _ => PlaceUnit::Line,
    }
}

fn dispatch(
    format: Format,
    input: &mut Input<'_>,
    sink: &mut Sink<'_>,
    options: &ReadOptions<'_>,
) -> Result<(), ReadError> {
    match format {
        Format::Text => text::read(input, sink),
        Format::Jsonl => jsonl::read(input, sink),
        Format::Dbcop => dbcop::read(input, sink),
        Format::DbcopJson => dbcop_json::read(input, sink),
        Format::Cobra => cobra::read_log(input, sink, options.cobra_identity),
        Format::Plume => plume::read(input, sink),
        Format::Elle => elle::read_edn(input, sink),
        Format::ElleJson => elle::read_json(input, sink),
        Format::IsoPredict => isopredict::read(input, sink),
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::read(input, sink),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => Err(ReadError::WithoutParquet { name: input.name().to_owned() }),
    }
}

/// Adds what the input itself found wrong; damage comes first, because it explains the rest.
fn finish(format: Format, input: &mut Input<'_>, mut sink: Sink<'_>) -> Result<Reading, ReadError> {
    for line in input.take_overlong() {
        let message = format!(
            "the line is too long to be a history in this format: more than {} MiB",
            input.longest_line() >> 20
        );
        sink.error(line, message);
    }
    let mut reading = sink.finish(format)?;
    if let Some(damage) = input.damage() {
        let message = format!("the compressed data is damaged or cut short after {} bytes: {damage}", input.offset());
        let defect = Defect { severity: Severity::Error, source: input.name().to_owned(), at: None, message };
        reading.defects.insert(0, defect);
        reading.history = None;
    }
    Ok(reading)
}

/// Turns a scanner's fault into a defect, unless it ends the reading.
fn report(sink: &mut Sink<'_>, result: Result<(), Fault>) -> Result<(), ReadError> {
    match result {
        Ok(()) => Ok(()),
        Err(Fault::Halt(error)) => Err(error),
        Err(Fault::Syntax { spot, message }) => {
            sink.error(spot.line, format!("column {}: {message}", spot.column + 1));
            Ok(())
        }
    }
}

/// Writes a history; the same one always as the same bytes.
pub fn write(history: &History, format: Format, out: &mut dyn Write) -> Result<(), WriteError> {
    write_headed(history, &Header::default(), format, out)
}

/// Writes a history with what a header says of its recording: the origin in JSON lines, the database there and in texts.
/// Other formats have no place for them.
pub fn write_headed(history: &History, header: &Header, format: Format, out: &mut dyn Write) -> Result<(), WriteError> {
    let mut out = BufWriter::new(out);
    match format {
        Format::Text => text::write(history, header.database.as_ref(), &mut out)?,
        Format::Jsonl => jsonl::write(history, header, &mut out)?,
        Format::Dbcop => dbcop::write(history, &mut out)?,
        Format::DbcopJson => dbcop_json::write(history, &mut out)?,
        Format::Cobra => {
            let what = "a history in one stream: it is a directory with a file per session";
            return write::inexpressible(format, what, "name a directory to write to");
        }
        Format::Plume => plume::write(history, &mut out)?,
        Format::Elle => elle::write_edn(history, &mut out)?,
        Format::ElleJson => elle::write_json(history, &mut out)?,
        Format::IsoPredict => isopredict::write(history, &mut out)?,
        Format::Parquet => write_parquet(history, header, &mut out)?,
    }
    out.flush()?;
    Ok(())
}

#[cfg(feature = "parquet")]
fn write_parquet(history: &History, header: &Header, out: &mut dyn Write) -> Result<(), WriteError> {
    let mut bytes = Vec::new();
    parquet::write(history, header, &mut bytes)?;
    Ok(out.write_all(&bytes)?)
}

#[cfg(not(feature = "parquet"))]
fn write_parquet(_: &History, _: &Header, _: &mut dyn Write) -> Result<(), WriteError> {
    write::inexpressible(Format::Parquet, "anything in this build", "build isoscope with the feature parquet")
}

/// Writes a history to a file, compressed if its name ends in `.gz` or `.zst`; a Cobra history and a Parquet data set to a
/// directory.
pub fn write_path(history: &History, format: Format, path: &Path) -> Result<(), WriteError> {
    write_headed_path(history, &Header::default(), format, path)
}

/// As [`write_path`], with what [`write_headed`] keeps of a header.
pub fn write_headed_path(history: &History, header: &Header, format: Format, path: &Path) -> Result<(), WriteError> {
    if format == Format::Cobra {
        return cobra::write_directory(history, path);
    }
    #[cfg(feature = "parquet")]
    if format == Format::Parquet {
        return parquet::write_directory(history, header, path);
    }
    // In memory first: a history that cannot be written must not destroy the file that was there.
    let mut bytes = Vec::new();
    write_headed(history, header, format, &mut bytes)?;
    write_bytes(&bytes, path)
}

/// Writes a history as JSON lines whose header says how it was recorded; `origin` is a JSON object in one line.
pub fn write_recorded(history: &History, origin: &str, out: &mut dyn Write) -> Result<(), WriteError> {
    let header = Header { origin: Some(origin.to_owned()), ..Header::default() };
    write_headed(history, &header, Format::Jsonl, out)
}

/// As [`write_recorded`], to a file, compressed if its name ends in `.gz` or `.zst`.
pub fn write_recorded_path(history: &History, origin: &str, path: &Path) -> Result<(), WriteError> {
    let mut bytes = Vec::new();
    write_recorded(history, origin, &mut bytes)?;
    write_bytes(&bytes, path)
}

fn write_bytes(bytes: &[u8], path: &Path) -> Result<(), WriteError> {
    let compression = Compression::from_extension(path.extension().and_then(OsStr::to_str).unwrap_or_default());
    let mut file = File::create(path)?;
    compression.wrap(&mut file, |out| out.write_all(bytes).map_err(WriteError::from))
}
