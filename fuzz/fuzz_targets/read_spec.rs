//! Reads any text as a spec file.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = iso_spec::parse(text, "fuzz.spec", &mut |_| Err("no other files".to_owned()));
});
