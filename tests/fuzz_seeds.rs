//! The seeds of the fuzz targets, run as plain tests: no target needs a nightly compiler to show that it holds.

#[path = "../fuzz/src/bodies.rs"]
mod bodies;

use std::fs;
use std::path::Path;

fn each_seed(target: &str, body: fn(&[u8])) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
    let mut seeds: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    seeds.sort_unstable();
    assert!(!seeds.is_empty());
    for seed in seeds {
        println!("{}", seed.display());
        let bytes = fs::read(seed).unwrap();
        body(&bytes);
        // Neighbours of a seed, at each of which it is cut, and with one byte changed.
        for at in (0..bytes.len()).step_by(1 + bytes.len() / 40) {
            body(&bytes[..at]);
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            body(&changed);
        }
    }
}

macro_rules! targets {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            each_seed(stringify!($name), bodies::$name);
        })*

        #[test]
        fn every_target_is_run() {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
            let mut named = vec![$(stringify!($name).to_owned()),*];
            named.sort_unstable();
            for (dir, end) in [("seeds", ""), ("fuzz_targets", ".rs")] {
                let entries = fs::read_dir(root.join(dir)).unwrap();
                let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
                let mut found: Vec<String> = names.map(|name| name.trim_end_matches(end).to_owned()).collect();
                found.sort_unstable();
                assert_eq!(found, named, "{dir}");
            }
        }
    };
}

targets! {
    frame
    recover
    json
    codec
    reducer
    snapshot
    head
    commands
}
