//! The extension module of the Python package `isoscope`: histories in, documents of answers out.
//!
//! What people see is Python, in `python/isoscope`. Here is what must be fast or must not hold the interpreter: tables
//! become histories, and questions are asked on a thread of their own, so that Ctrl-C is heard.

mod arrow;
mod ask;
mod data;
mod document;
mod errors;
mod history;
mod table;

use pyo3::prelude::*;

/// What `isoscope/_native.pyi` describes.
#[pymodule]
#[pyo3(name = "_native")]
fn native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<history::History>()?;
    module.add_class::<document::Document>()?;
    module.add_function(wrap_pyfunction!(history::read, module)?)?;
    module.add_function(wrap_pyfunction!(history::parse, module)?)?;
    module.add_function(wrap_pyfunction!(history::from_columns, module)?)?;
    module.add_function(wrap_pyfunction!(history::from_arrow, module)?)?;
    module.add_function(wrap_pyfunction!(ask::check, module)?)?;
    module.add_function(wrap_pyfunction!(ask::predict, module)?)?;
    module.add_function(wrap_pyfunction!(ask::verify, module)?)?;
    module.add_function(wrap_pyfunction!(ask::separate, module)?)?;
    module.add_function(wrap_pyfunction!(ask::compare, module)?)?;
    Ok(())
}
