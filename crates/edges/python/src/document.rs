//! An answer, and everything that can be made of it.

use iso_cli::ask::Told;
use iso_report::{Imprint, JsonLayout, TextOptions};
use pyo3::prelude::*;

/// The document of one answer. It is made once, and rendered when somebody wants to see it.
#[pyclass(frozen, module = "isoscope._native")]
#[derive(Debug)]
pub(crate) struct Document {
    told: Told,
}

impl Document {
    pub(crate) fn new(told: Told) -> Self {
        Self { told }
    }
}

#[pymethods]
impl Document {
    /// What the command line would end with.
    #[getter]
    fn exit_code(&self) -> i32 {
        self.told.exit_code()
    }

    /// The verb that was asked.
    #[getter]
    fn verb(&self) -> &'static str {
        self.told.report.verb()
    }

    /// What people should know besides.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.told.notes.clone()
    }

    /// As text, in lines of so many columns.
    fn text(&self, py: Python<'_>, columns: usize) -> String {
        py.detach(|| self.told.report.text(TextOptions { columns: Some(columns), ..TextOptions::default() }))
    }

    /// As JSON.
    fn json(&self, py: Python<'_>, pretty: bool) -> String {
        let layout = if pretty { JsonLayout::Pretty } else { JsonLayout::Compact };
        py.detach(|| self.told.report.to_json(layout))
    }

    /// As a page.
    fn html(&self, py: Python<'_>, date: Option<String>) -> String {
        py.detach(|| self.told.report.html(&Imprint { date }))
    }

    /// As a picture.
    fn svg(&self, py: Python<'_>) -> String {
        py.detach(|| self.told.report.svg())
    }

    /// For Graphviz.
    fn dot(&self, py: Python<'_>) -> String {
        py.detach(|| self.told.report.dot())
    }
}
