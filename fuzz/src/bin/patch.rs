#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| anneal_embedded::api::fuzzing::patch(data));
