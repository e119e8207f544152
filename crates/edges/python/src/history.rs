//! Histories as Python holds them.

use crate::arrow;
use crate::ask::heard;
use crate::data;
use crate::errors;
use crate::table::{Column, Table};
use iso_cli::ask::Given;
use iso_formats::{Format, Header, ReadError, ReadOptions, Reading, Watch};
use iso_history::{Datum, Defect, Outcome};
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A history with what is known of it. It does not change, so that threads can share it.
#[pyclass(frozen, module = "isoscope._native")]
#[derive(Debug)]
pub(crate) struct History {
    known: Arc<Known>,
}

#[derive(Debug)]
pub(crate) struct Known {
    name: String,
    history: iso_history::History,
    defects: Vec<Defect>,
    header: Header,
}

impl Known {
    pub(crate) fn given(&self) -> Given<'_> {
        Given { name: &self.name, history: &self.history, defects: &self.defects, header: &self.header }
    }
}

impl History {
    pub(crate) fn known(&self) -> Arc<Known> {
        Arc::clone(&self.known)
    }

    fn new(name: String, history: iso_history::History, defects: Vec<Defect>, header: Header) -> Self {
        Self { known: Arc::new(Known { name, history, defects, header }) }
    }
}

#[pymethods]
impl History {
    /// What messages call it.
    #[getter]
    fn name(&self) -> &str {
        &self.known.name
    }

    /// How many transactions it has.
    #[getter]
    fn n_transactions(&self) -> usize {
        self.known.history.n_txns() - 1
    }

    /// How many operations.
    #[getter]
    fn n_operations(&self) -> usize {
        self.known.history.n_ops()
    }

    /// How many keys.
    #[getter]
    fn n_keys(&self) -> usize {
        self.known.history.n_keys()
    }

    /// How many transactions committed.
    #[getter]
    fn n_committed(&self) -> usize {
        let history = &self.known.history;
        history
            .txns()
            .filter(|it| history.session_of(*it).is_some() && history.outcome(*it) == Outcome::Committed)
            .count()
    }

    /// The names of the sessions.
    #[getter]
    fn sessions(&self) -> Vec<String> {
        self.known.history.sessions().map(|it| self.known.history.session_name(it).to_owned()).collect()
    }

    /// What was found at reading it that does not make it unusable.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.known.defects.iter().map(ToString::to_string).collect()
    }

    /// The history in a format.
    fn write(&self, py: Python<'_>, format: &str) -> PyResult<Vec<u8>> {
        let format = format_of(py, format)?;
        let known = self.known();
        let written = py.detach(move || {
            let mut bytes = Vec::new();
            iso_formats::write_headed(&known.history, &known.header, format, &mut bytes as &mut dyn Write)
                .map(|()| bytes)
        });
        written.map_err(|error| errors::table(py, &error.to_string()))
    }

    /// Are two histories the same, whatever they are called?
    fn equals(&self, py: Python<'_>, other: &Self) -> bool {
        let (one, other) = (self.known(), other.known());
        py.detach(move || one.history == other.history)
    }
}

/// Reads a file, or a directory of Cobra logs.
#[pyfunction]
#[pyo3(signature = (path, format=None, initial=None))]
pub(crate) fn read(
    py: Python<'_>,
    path: PathBuf,
    format: Option<&str>,
    initial: Option<&Bound<'_, PyAny>>,
) -> PyResult<History> {
    let (format, initial) = (format.map(|it| format_of(py, it)).transpose()?, initial_of(py, initial)?);
    let name = path.display().to_string();
    let reading = heard(py, move |is_interrupted| {
        let watch = Listener(is_interrupted);
        let initial = initial.as_ref().map(Datum::as_name);
        let options = ReadOptions { format, initial, watch: Some(&watch), ..ReadOptions::default() };
        iso_formats::read_path(&path, &options)
    })?;
    history_of(py, name, reading)
}

/// Reads a text.
#[pyfunction]
#[pyo3(signature = (text, name, format=None, initial=None))]
pub(crate) fn parse(
    py: Python<'_>,
    text: Vec<u8>,
    name: String,
    format: Option<&str>,
    initial: Option<&Bound<'_, PyAny>>,
) -> PyResult<History> {
    let (format, initial) = (format.map(|it| format_of(py, it)).transpose()?, initial_of(py, initial)?);
    let source = name.clone();
    let reading = heard(py, move |is_interrupted| {
        let watch = Listener(is_interrupted);
        let initial = initial.as_ref().map(Datum::as_name);
        let options = ReadOptions { format, initial, watch: Some(&watch), ..ReadOptions::default() };
        iso_formats::read_from(&source, text.as_slice(), &options)
    })?;
    history_of(py, name, reading)
}

fn history_of(py: Python<'_>, name: String, reading: Result<Reading, ReadError>) -> PyResult<History> {
    let reading = reading.map_err(|error| errors::unreadable(py, &error))?;
    let (defects, header) = (reading.defects, reading.header);
    match reading.history {
        Some(history) => Ok(History::new(name, history, defects, header)),
        None => Err(errors::defective(py, &defects)),
    }
}

/// A table out of lists, one a column.
#[pyfunction]
#[pyo3(signature = (columns, name, initial=None, initials=None))]
pub(crate) fn from_columns(
    py: Python<'_>,
    columns: &Bound<'_, PyDict>,
    name: String,
    initial: Option<&Bound<'_, PyAny>>,
    initials: Option<&Bound<'_, PyDict>>,
) -> PyResult<History> {
    let column = |role: &str| -> PyResult<Option<Box<dyn Column>>> {
        let Some(cells) = columns.get_item(role)? else { return Ok(None) };
        match data::column(&cells, role)? {
            Ok(made) => Ok(Some(Box::new(made) as Box<dyn Column>)),
            Err(message) => Err(errors::table(py, &message)),
        }
    };
    table(py, column, name, initial, initials)
}

/// A table out of an Arrow stream. `roles` says which column is what.
#[pyfunction]
#[pyo3(signature = (stream, roles, name, initial=None, initials=None))]
pub(crate) fn from_arrow(
    py: Python<'_>,
    stream: &Bound<'_, PyCapsule>,
    roles: &Bound<'_, PyDict>,
    name: String,
    initial: Option<&Bound<'_, PyAny>>,
    initials: Option<&Bound<'_, PyDict>>,
) -> PyResult<History> {
    let batches = arrow::batches(stream)?.map_err(|message| errors::table(py, &message))?;
    let column = |role: &str| -> PyResult<Option<Box<dyn Column>>> {
        let Some(wanted) = roles.get_item(role)? else { return Ok(None) };
        let wanted: String = wanted.extract()?;
        match batches.column(&wanted) {
            // The caller knows how to say it, and which other names there are.
            None => Err(PyKeyError::new_err(batches.names().to_vec())),
            Some(Ok(column)) => Ok(Some(Box::new(column) as Box<dyn Column>)),
            // The caller has another way.
            Some(Err(kind)) => Err(PyTypeError::new_err(format!("the column {wanted} is of the type {kind}"))),
        }
    };
    table(py, column, name, initial, initials)
}

fn table(
    py: Python<'_>,
    column: impl Fn(&str) -> PyResult<Option<Box<dyn Column>>>,
    name: String,
    initial: Option<&Bound<'_, PyAny>>,
    initials: Option<&Bound<'_, PyDict>>,
) -> PyResult<History> {
    let needed = |role: &str| column(role)?.ok_or_else(|| PyKeyError::new_err(role.to_owned()));
    let mut single = Vec::new();
    for (key, value) in initials.into_iter().flatten() {
        single.push((datum_of(py, &key)?, datum_of(py, &value)?));
    }
    let table = Table {
        session: needed("session")?,
        txn: column("txn")?,
        op: needed("op")?,
        key: needed("key")?,
        value: needed("value")?,
        status: column("status")?,
        begin: column("begin")?,
        end: column("end")?,
        initial: initial_of(py, initial)?,
        initials: single,
    };
    let (history, defects) = py.detach(move || table.history());
    match history {
        Some(history) => Ok(History::new(name, history, defects, Header::default())),
        None => Err(errors::defective(py, &defects)),
    }
}

fn initial_of(py: Python<'_>, initial: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Datum>> {
    initial.map(|it| datum_of(py, it)).transpose()
}

fn datum_of(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Datum> {
    data::datum(object)?.map_err(|what| errors::table(py, &format!("an initial value is {what}")))
}

fn format_of(py: Python<'_>, name: &str) -> PyResult<Format> {
    Format::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = Format::ALL.iter().map(|it| it.name()).collect();
        errors::table(py, &format!("there is no format `{name}`; choose one of {}", known.join(", ")))
    })
}

struct Listener<'f>(&'f AtomicBool);

impl Watch for Listener<'_> {
    fn should_stop(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
