//! Reads any text as a program; one that is read prints as a text that reads back.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    if iso_program::parse(text, "fuzz.txn").is_ok() {
        let printed = iso_program::pretty(text, "fuzz.txn").expect("a program that was read is printed");
        assert!(iso_program::parse(&printed, "fuzz.txn").is_ok(), "{printed}");
    }
});
