//! Reads any bytes; the reader recognises the format by itself.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| iso_fuzz::read(bytes, None));
