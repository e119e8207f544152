//! The answers of the playground in WebAssembly, for a page that needs no server.
//!
//! Texts cross the border as bytes in the memory of the module. The page asks for room, writes a question there, and is told
//! where the answer stands. Nothing else is shared: no file, no network, and of the world only the time.
#![cfg(target_arch = "wasm32")]
#![expect(unsafe_code, reason = "what crosses the border of a module has fixed names, and is no Rust value")]

use iso_cli::{clock, playground};
use std::cell::RefCell;

mod page {
    #[link(wasm_import_module = "page")]
    unsafe extern "C" {
        /// Milliseconds since whenever.
        pub(crate) safe fn now() -> f64;
        /// Something went wrong; the module ends after it.
        pub(crate) safe fn failed(text: *const u8, n_bytes: usize);
    }
}

thread_local! {
    /// The question while it is written, and the answer until the next one.
    static TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Prepares the module. Must be called first.
#[unsafe(no_mangle)]
pub extern "C" fn start() {
    clock::set(|| page::now());
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.to_string();
        page::failed(text.as_ptr(), text.len());
    }));
}

/// Room for a question of so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn room(n_bytes: usize) -> *mut u8 {
    TEXT.with_borrow_mut(|text| {
        text.clear();
        text.resize(n_bytes, 0);
        text.as_mut_ptr()
    })
}

/// Answers the question that was written; how long the answer is.
#[unsafe(no_mangle)]
pub extern "C" fn ask() -> usize {
    let question = String::from_utf8_lossy(&TEXT.take()).into_owned();
    put(playground::answer(&question))
}

/// The examples; how long they are.
#[unsafe(no_mangle)]
pub extern "C" fn examples() -> usize {
    put(playground::examples())
}

/// The levels; how long they are.
#[unsafe(no_mangle)]
pub extern "C" fn levels() -> usize {
    put(playground::levels())
}

/// Where the last answer stands.
#[unsafe(no_mangle)]
pub extern "C" fn told() -> *const u8 {
    TEXT.with_borrow(|text| text.as_ptr())
}

fn put(text: String) -> usize {
    TEXT.set(text.into_bytes());
    TEXT.with_borrow(Vec::len)
}
