//! Columns of Arrow tables, as polars, pyarrow, pandas and `DuckDB` hand them over: looked at where they are, not copied.

use crate::data::of_float;
use crate::table::{Cell, Column};
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, RecordBatch, RecordBatchReader};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{DataType, TimeUnit};
use iso_history::{Datum, Name};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};
use std::ops::Range;

/// The name of a capsule with a stream, as Arrow's interface for Python says it.
const STREAM: &std::ffi::CStr = c"arrow_array_stream";

/// A table in pieces.
pub(crate) struct Batches {
    names: Vec<String>,
    batches: Vec<RecordBatch>,
}

/// Takes the stream out of a capsule that `__arrow_c_stream__` returned.
pub(crate) fn batches(capsule: &Bound<'_, PyCapsule>) -> PyResult<Result<Batches, String>> {
    let pointer = capsule.pointer_checked(Some(STREAM))?;
    // SAFETY: a capsule of this name holds a stream of Arrow's interface, which becomes ours here: the stream that is left
    // in the capsule is marked as released.
    #[allow(unsafe_code, reason = "a pointer is all that the interface between libraries has")]
    let reader = unsafe { RecordBatchStreamReader::from_raw(pointer.as_ptr().cast::<FFI_ArrowArrayStream>()) };
    let read = || -> Result<Batches, arrow_schema::ArrowError> {
        let reader = reader?;
        let names = reader.schema().fields().iter().map(|it| it.name().clone()).collect();
        Ok(Batches { names, batches: reader.collect::<Result<_, _>>()? })
    };
    Ok(read().map_err(|it| it.to_string()))
}

impl Batches {
    /// The names of the columns.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// A column by its name; its type, if cells of that type are not known here.
    pub(crate) fn column(&self, name: &str) -> Option<Result<Chunked, String>> {
        let place = self.names.iter().position(|it| it == name)?;
        let mut chunked = Chunked { chunks: Vec::new(), starts: Vec::new(), len: 0 };
        for batch in &self.batches {
            let array = batch.column(place);
            let Some(chunk) = chunk(array) else { return Some(Err(array.data_type().to_string())) };
            chunked.starts.push(chunked.len);
            chunked.len += array.len();
            chunked.chunks.push(chunk);
        }
        Some(Ok(chunked))
    }
}

/// A column in chunks.
pub(crate) struct Chunked {
    chunks: Vec<Chunk>,
    starts: Vec<usize>,
    len: usize,
}

/// A chunk whose cells can be names without a copy.
enum Chunk {
    Null,
    Ints(ScalarBuffer<i64>, Option<ArrayRef>),
    Texts(arrow_array::StringArray),
    LargeTexts(arrow_array::LargeStringArray),
    Views(arrow_array::StringViewArray),
    /// What needs a spelling of its own.
    Spelled(Vec<Datum>),
    /// Where to find each cell among few values.
    Dictionary(Vec<u32>, Box<Chunk>, ArrayRef),
}

impl Column for Chunked {
    fn len(&self) -> usize {
        self.len
    }

    fn cell(&self, row: usize) -> Cell<'_> {
        let idx = match self.starts.as_slice() {
            [_] => 0,
            starts => starts.partition_point(|it| *it <= row) - 1,
        };
        Cell::Name(self.chunks[idx].name(row - self.starts[idx]))
    }

    fn integers(&self, rows: Range<usize>) -> Option<&[i64]> {
        let idx = self.starts.partition_point(|it| *it <= rows.start).checked_sub(1)?;
        match &self.chunks[idx] {
            Chunk::Ints(numbers, None) => numbers.get(rows.start - self.starts[idx]..rows.end - self.starts[idx]),
            _ => None,
        }
    }
}

impl Chunk {
    fn name(&self, row: usize) -> Name<'_> {
        match self {
            Self::Null => Name::Null,
            Self::Ints(_, Some(nulls)) if nulls.is_null(row) => Name::Null,
            Self::Ints(numbers, _) => Name::Int(numbers[row]),
            Self::Texts(texts) if texts.is_null(row) => Name::Null,
            Self::Texts(texts) => Name::Text(texts.value(row)),
            Self::LargeTexts(texts) if texts.is_null(row) => Name::Null,
            Self::LargeTexts(texts) => Name::Text(texts.value(row)),
            Self::Views(texts) if texts.is_null(row) => Name::Null,
            Self::Views(texts) => Name::Text(texts.value(row)),
            Self::Spelled(data) => data[row].as_name(),
            Self::Dictionary(_, _, keys) if keys.is_null(row) => Name::Null,
            Self::Dictionary(places, values, _) => values.name(places[row] as usize),
        }
    }
}

fn chunk(array: &ArrayRef) -> Option<Chunk> {
    Some(match array.data_type() {
        DataType::Null => Chunk::Null,
        DataType::Int8 => ints::<Int8Type>(array),
        DataType::Int16 => ints::<Int16Type>(array),
        DataType::Int32 => ints::<Int32Type>(array),
        DataType::Int64 => whole_ints::<Int64Type>(array),
        DataType::UInt8 => ints::<UInt8Type>(array),
        DataType::UInt16 => ints::<UInt16Type>(array),
        DataType::UInt32 => ints::<UInt32Type>(array),
        DataType::UInt64 => Chunk::Spelled(spelled::<UInt64Type>(array, of_unsigned)),
        DataType::Float32 => Chunk::Spelled(spelled::<Float32Type>(array, |it| of_float(f64::from(it)))),
        DataType::Float64 => Chunk::Spelled(spelled::<Float64Type>(array, of_float)),
        DataType::Utf8 => Chunk::Texts(array.as_string::<i32>().clone()),
        DataType::LargeUtf8 => Chunk::LargeTexts(array.as_string::<i64>().clone()),
        DataType::Utf8View => Chunk::Views(array.as_string_view().clone()),
        DataType::Boolean => Chunk::Spelled(booleans(array)),
        DataType::Timestamp(unit, _) => times(array, *unit),
        DataType::Dictionary(_, _) => dictionary(array)?,
        _ => return None,
    })
}

fn nulls(array: &ArrayRef) -> Option<ArrayRef> {
    (array.null_count() > 0).then(|| ArrayRef::clone(array))
}

fn ints<T: ArrowPrimitiveType>(array: &ArrayRef) -> Chunk
where
    T::Native: Into<i64>,
{
    let numbers: Vec<i64> = array.as_primitive::<T>().values().iter().map(|it| (*it).into()).collect();
    Chunk::Ints(numbers.into(), nulls(array))
}

/// Those that need no conversion stay where they are.
fn whole_ints<T: ArrowPrimitiveType<Native = i64>>(array: &ArrayRef) -> Chunk {
    Chunk::Ints(array.as_primitive::<T>().values().clone(), nulls(array))
}

/// Times are compared only, so the unit of their numbers does not matter.
fn times(array: &ArrayRef, unit: TimeUnit) -> Chunk {
    use arrow_array::types::{
        TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
    };
    match unit {
        TimeUnit::Second => whole_ints::<TimestampSecondType>(array),
        TimeUnit::Millisecond => whole_ints::<TimestampMillisecondType>(array),
        TimeUnit::Microsecond => whole_ints::<TimestampMicrosecondType>(array),
        TimeUnit::Nanosecond => whole_ints::<TimestampNanosecondType>(array),
    }
}

fn spelled<T: ArrowPrimitiveType>(array: &ArrayRef, spell: impl Fn(T::Native) -> Datum) -> Vec<Datum> {
    array.as_primitive::<T>().iter().map(|it| it.map_or(Datum::Null, &spell)).collect()
}

fn of_unsigned(number: u64) -> Datum {
    i64::try_from(number).map_or_else(|_| Datum::Number(number.to_string().into()), Datum::Int)
}

fn booleans(array: &ArrayRef) -> Vec<Datum> {
    let word = |it| Datum::text(if it { "true" } else { "false" });
    array.as_boolean().iter().map(|it| it.map_or(Datum::Null, word)).collect()
}

fn dictionary(array: &ArrayRef) -> Option<Chunk> {
    let dictionary = array.as_any_dictionary_opt()?;
    let places = dictionary.normalized_keys().into_iter().map(|it| it as u32).collect();
    let values = chunk(dictionary.values())?;
    Some(Chunk::Dictionary(places, Box::new(values), ArrayRef::clone(array)))
}
