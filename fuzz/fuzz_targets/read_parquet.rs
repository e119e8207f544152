//! Reads any bytes; the reader is told the format.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| iso_fuzz::read(bytes, Some(iso_formats::Format::Parquet)));
