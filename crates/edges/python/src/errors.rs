//! What goes wrong, as exceptions of the package: the message as the command line prints it, and each place as data.

use iso_cli::ask::{Place, Unasked};
use iso_formats::ReadError;
use iso_history::{Defect, PlaceUnit, Severity};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The module that declares the exceptions.
const MODULE: &str = "isoscope._errors";
/// Messages about one input end after this many.
const MAX_SHOWN: usize = 10;

/// A question could not be asked.
pub(crate) fn unasked(py: Python<'_>, why: &Unasked) -> PyErr {
    exception(py, "QuestionError", &why.message, &why.places)
}

/// An input has no history in it.
pub(crate) fn unreadable(py: Python<'_>, error: &ReadError) -> PyErr {
    match error {
        ReadError::Stopped { .. } => exception(py, "Interrupted", &error.to_string(), &[]),
        _ => exception(py, "HistoryError", &error.to_string(), &[]),
    }
}

/// A history has defects.
pub(crate) fn defective(py: Python<'_>, defects: &[Defect]) -> PyErr {
    let errors: Vec<&Defect> = defects.iter().filter(|it| it.severity == Severity::Error).collect();
    let mut lines: Vec<String> = errors.iter().take(MAX_SHOWN).map(ToString::to_string).collect();
    if errors.len() > MAX_SHOWN {
        lines.push(format!("and {} more like these", errors.len() - MAX_SHOWN));
    }
    let line = |it: &Defect| it.at.filter(|it| it.1 == PlaceUnit::Line).map_or(0, |it| it.0);
    let place = |it: &&Defect| Place {
        file: it.source.clone(),
        line: line(it),
        column: None,
        message: it.message.clone(),
        hint: String::new(),
    };
    exception(py, "HistoryError", &lines.join("\n"), &errors.iter().map(place).collect::<Vec<_>>())
}

/// A table cannot be a history.
pub(crate) fn table(py: Python<'_>, message: &str) -> PyErr {
    exception(py, "HistoryError", message, &[])
}

/// A bug of ours, which must never look like an answer.
pub(crate) fn bug(py: Python<'_>) -> PyErr {
    let words = "this is a bug in isoscope, not a verdict; please report it with the call and the input";
    exception(py, "Bug", words, &[])
}

fn exception(py: Python<'_>, class: &str, message: &str, places: &[Place]) -> PyErr {
    let make = || -> PyResult<PyErr> {
        let places = places.iter().map(|it| described(py, it)).collect::<PyResult<Vec<_>>>()?;
        let made = py.import(MODULE)?.getattr(class)?.call1((message, places))?;
        Ok(PyErr::from_value(made))
    };
    make().unwrap_or_else(|error| error)
}

fn described<'py>(py: Python<'py>, place: &Place) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("file", &place.file)?;
    dict.set_item("line", Some(place.line).filter(|it| *it > 0))?;
    dict.set_item("column", place.column)?;
    dict.set_item("message", &place.message)?;
    dict.set_item("hint", &place.hint)?;
    Ok(dict)
}
