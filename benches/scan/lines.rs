//! Requests as `append --stdin` reads them, and the lines of a log as a plain reader sees them.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// What a note needs so that its record, with sequence numbers of five digits, takes 512 bytes.
const NOTE_BYTES: usize = 93;

/// How much is read at a time, as verification does.
const CHUNK_BYTES: usize = 256 << 10;

/// Notes, each of which makes a record of 512 bytes.
pub fn padded(count: usize) -> String {
    let note = |n: usize| format!("{:x<NOTE_BYTES$}", format!("compare candidate {n} with the best so far "));
    (0..count)
        .map(|n| format!("{{\"command\":\"refresh-state\",\"next_action\":\"{}\"}}\n", note(n)))
        .collect()
}

/// Notes of what was done, with request ids or without.
pub fn notes(count: usize, ids: bool) -> String {
    let id = |n: usize| if ids { format!(",\"request\":\"run-7/step-{n}\"") } else { String::new() };
    (0..count)
        .map(|n| {
            format!(
                "{{\"command\":\"refresh-state\",\"next_action\":\"compare candidate {n} with the best\"{}}}\n",
                id(n)
            )
        })
        .collect()
}

/// Turn after turn: a todo is added, taken and closed on a proof.
pub fn work(count: usize) -> String {
    let mut text =
        "{\"command\":\"quota.set\",\"allowance\":{\"kind\":\"unlimited\"},\"why\":\"a benchmark\"}\n"
            .to_owned();
    for n in 1..=count.div_ceil(3) {
        text.push_str(&format!(
            "{{\"command\":\"todo.add\",\"title\":\"Evaluate candidate {n}: k, metric and scaling\",\"done_when\":\"its held-out score is recorded\"}}\n\
             {{\"command\":\"next\"}}\n\
             {{\"command\":\"done\",\"todo\":\"T{n}\",\"close\":{{\"proof\":[{{\"kind\":\"command\",\"exit\":0,\
             \"summary\":\"cargo run --release -- evaluate --candidate {n} => 0.9{:03}\"}}],\"no_follow_up\":\"one of many\"}}}}\n",
            n % 1000
        ));
    }
    text
}

/// Reads all segments, in order, and shows each whole line.
pub fn of_segments(root: &Path, each: fn(&[u8])) {
    let mut paths: Vec<_> = fs::read_dir(root.join("log"))
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .collect();
    paths.sort();
    let mut buffer = vec![0; CHUNK_BYTES];
    for path in paths {
        let mut file = File::open(path).expect("a segment");
        let mut carried = 0;
        loop {
            let count = file.read(&mut buffer[carried..]).expect("it is read");
            let filled = carried + count;
            if count == 0 {
                break;
            }
            let end = buffer[..filled].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            buffer[..end].split_inclusive(|byte| *byte == b'\n').for_each(each);
            buffer.copy_within(end..filled, 0);
            carried = filled - end;
        }
        assert_eq!(carried, 0, "a segment ends with a line feed");
    }
}
