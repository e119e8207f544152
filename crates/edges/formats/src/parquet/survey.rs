//! What the ends of the files of a data set say of it: enough to write queries for engines that read the rows themselves.

use super::columns::{Column, Damage, Layout};
use super::read::{metadata, unharmed};
use super::{HEADER, spelling};
use crate::input::{Line, LineBytes, LineEnd};
use crate::json::Json;
use crate::{DataSet, ReadError};
use iso_history::{Datum, Name};
use parquet::basic::Type as Physical;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Looks at the ends of files.
pub(crate) fn survey(path: &Path, parts: &[PathBuf]) -> Result<DataSet, ReadError> {
    let mut found: Option<DataSet> = None;
    for part in parts {
        let name = part.display().to_string();
        let file = File::open(part).map_err(|source| ReadError::Open { path: name.clone(), source })?;
        let damaged = |Damage(message)| ReadError::DataSet { name: name.clone(), message };
        let file =
            unharmed(|| SerializedFileReader::new(file).map_err(Damage::from)).map_err(damaged)?.map_err(damaged)?;
        let about = of_file(path, file.metadata()).map_err(damaged)?;
        found = Some(match found {
            None => about,
            Some(before) => together(before, &about).map_err(damaged)?,
        });
    }
    found.ok_or_else(|| ReadError::Empty { name: path.display().to_string() })
}

fn of_file(path: &Path, footer: &ParquetMetaData) -> Result<DataSet, Damage> {
    let schema = footer.file_metadata().schema_descr();
    let layout = Layout::of(schema).map_err(|it| Damage(it.join("; ")))?;
    let place = |column: Column| schema.columns().iter().position(|it| it.name() == column.name());
    let is_text =
        |column: Column| place(column).is_some_and(|it| schema.column(it).physical_type() == Physical::BYTE_ARRAY);
    let statistics = |column: Column| -> Option<Vec<&Statistics>> {
        let place = place(column)?;
        let groups = footer.row_groups().iter().filter(|it| it.num_rows() > 0);
        groups.map(|it| it.column(place).statistics()).collect()
    };
    let range = |column: Column| statistics(column).and_then(|it| ints(&it));
    let last_status = || -> Option<Vec<u8>> {
        let found = statistics(Column::Status)?;
        found.iter().map(|it| it.max_bytes_opt().map(<[u8]>::to_vec)).collect::<Option<Vec<_>>>()?.into_iter().max()
    };
    Ok(DataSet {
        path: path.to_owned(),
        n_rows: u64::try_from(footer.file_metadata().num_rows()).unwrap_or(0),
        columns: Column::ALL.into_iter().filter(|it| layout.has(*it)).map(Column::name).collect(),
        has_text_keys: is_text(Column::Key),
        has_text_values: is_text(Column::Value),
        txns: range(Column::Txn),
        times: either(range(Column::Begin), range(Column::End)),
        // Where nothing is said, there may be some.
        may_have_unknown: layout.has(Column::Status) && last_status().is_none_or(|it| &*it > b"commit".as_slice()),
        initial: metadata(footer, HEADER).and_then(initial).unwrap_or(Datum::Null),
    })
}

/// The smallest and the largest number of all row groups.
fn ints(statistics: &[&Statistics]) -> Option<(i64, i64)> {
    let mut range = None;
    for statistics in statistics {
        let (low, high) = match statistics {
            Statistics::Int32(it) => (i64::from(*it.min_opt()?), i64::from(*it.max_opt()?)),
            Statistics::Int64(it) => (*it.min_opt()?, *it.max_opt()?),
            _ => return None,
        };
        range = either(range, Some((low, high)));
    }
    range
}

/// What is in either range.
fn either(one: Option<(i64, i64)>, other: Option<(i64, i64)>) -> Option<(i64, i64)> {
    match (one, other) {
        (Some(one), Some(other)) => Some((one.0.min(other.0), one.1.max(other.1))),
        (one, other) => one.or(other),
    }
}

/// What is known of two files together.
fn together(one: DataSet, other: &DataSet) -> Result<DataSet, Damage> {
    let same_types = one.has_text_keys == other.has_text_keys && one.has_text_values == other.has_text_values;
    if !same_types || one.columns != other.columns {
        return Err(Damage("its columns are not those of the files before it".to_owned()));
    }
    if one.initial != other.initial {
        return Err(Damage(format!("the metadata `{HEADER}` is not that of the files before it")));
    }
    let both = |one: Option<(i64, i64)>, other: Option<(i64, i64)>| one.and(other).and(either(one, other));
    Ok(DataSet {
        n_rows: one.n_rows + other.n_rows,
        txns: both(one.txns, other.txns),
        times: both(one.times, other.times),
        may_have_unknown: one.may_have_unknown || other.may_have_unknown,
        ..one
    })
}

/// The initial value of all keys in a header.
fn initial(header: &str) -> Option<Datum> {
    let line = Line { number: 1, bytes: header.as_bytes(), end: LineEnd::EndOfInput };
    let mut found = None;
    let read = Json::new(LineBytes::new(line)).object(|json, name| match name {
        "initial" => {
            found = Some(json.value()?);
            Ok(())
        }
        _ => json.skip(),
    });
    read.ok().and(found)
}

/// How a column of texts spells a name.
pub(crate) fn spelled(name: Name<'_>) -> Option<String> {
    spelling::write(name).map(std::borrow::Cow::into_owned)
}
