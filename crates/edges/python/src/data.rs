//! Python's objects as the names of keys and values.
//!
//! Two objects that are equal in Python are one value here where that can be: `1` and `1.0` are. What has no place in a
//! history is refused with its row, and never spelled somehow.

use crate::table::{Made, MadeCell};
use iso_history::Datum;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// Whole numbers below this are exact in a float.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A column out of a list of objects.
pub(crate) fn column(cells: &Bound<'_, PyAny>, name: &str) -> PyResult<Result<Made, String>> {
    let mut made = Vec::new();
    for (row, cell) in cells.try_iter()?.enumerate() {
        match made_cell(&cell?)? {
            Ok(cell) => made.push(cell),
            Err(what) => return Ok(Err(format!("rows: line {}: the {name} is {what}", row + 1))),
        }
    }
    Ok(Ok(Made(made)))
}

fn made_cell(object: &Bound<'_, PyAny>) -> PyResult<Result<MadeCell, String>> {
    let items: Vec<Bound<'_, PyAny>> = if let Ok(list) = object.cast::<PyList>() {
        list.iter().collect()
    } else if let Ok(tuple) = object.cast::<PyTuple>() {
        tuple.iter().collect()
    } else {
        return Ok(datum(object)?.map(MadeCell::Datum));
    };
    let mut list = Vec::with_capacity(items.len());
    for item in &items {
        match datum(item)? {
            Ok(datum) => list.push(datum),
            Err(what) => return Ok(Err(format!("a list in which there is {what}"))),
        }
    }
    Ok(Ok(MadeCell::List(list)))
}

/// One object; or what it is, if it cannot be a key or a value.
pub(crate) fn datum(object: &Bound<'_, PyAny>) -> PyResult<Result<Datum, String>> {
    if object.is_none() {
        return Ok(Ok(Datum::Null));
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Ok(Datum::text(text.to_cow()?.as_ref())));
    }
    if object.is_instance_of::<PyBool>() {
        return Ok(Ok(Datum::text(if object.is_truthy()? { "true" } else { "false" })));
    }
    if object.is_instance_of::<PyInt>() {
        return Ok(Ok(match object.extract::<i64>() {
            Ok(number) => Datum::Int(number),
            Err(_) => Datum::Number(object.str()?.to_cow()?.as_ref().into()),
        }));
    }
    if object.is_instance_of::<PyFloat>() {
        return Ok(Ok(of_float(object.extract()?)));
    }
    if let Ok(dict) = object.cast::<PyDict>() {
        return record(dict);
    }
    // Numbers of other libraries, such as numpy's, know which integer they are.
    if let Ok(number) = object.call_method0("__index__").and_then(|it| it.extract::<i64>()) {
        return Ok(Ok(Datum::Int(number)));
    }
    let class = object.get_type();
    match class.name()?.to_cow()?.as_ref() {
        // Missing values of pandas.
        "NAType" | "NaTType" => Ok(Ok(Datum::Null)),
        "UUID" | "Decimal" | "datetime" | "date" | "Timestamp" => Ok(Ok(Datum::text(object.str()?.to_cow()?.as_ref()))),
        other => Ok(Err(format!("of the type {other}; make it a string, a number or None first"))),
    }
}

fn record(dict: &Bound<'_, PyDict>) -> PyResult<Result<Datum, String>> {
    let mut fields = Vec::new();
    for (name, value) in dict {
        match datum(&value)? {
            Ok(value) => fields.push((name.str()?.to_cow()?.into_owned(), value)),
            Err(what) => return Ok(Err(format!("a row in which there is something {what}"))),
        }
    }
    Ok(Ok(Datum::record(fields.iter().map(|(name, value)| (name.as_str(), value.clone())))))
}

/// A float that is a whole number is that number; one that is none is a missing cell of pandas.
#[allow(clippy::cast_possible_truncation, reason = "whole, and exact")]
pub(crate) fn of_float(number: f64) -> Datum {
    if number.is_nan() {
        Datum::Null
    } else if number.fract() == 0.0 && number.abs() < EXACT {
        Datum::Int(number as i64)
    } else {
        Datum::Number(format!("{number:?}").into())
    }
}
