//! The most memory that a process had.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Runs to the end, which must be a success, looking every half millisecond at what the kernel says was the most so far:
/// that only grows. `None` where there is no such word.
pub fn peak_kib(command: &mut Command) -> Option<u64> {
    let mut child = command.stdout(Stdio::null()).spawn().expect("it starts");
    let path = format!("/proc/{}/status", child.id());
    let mut peak = None;
    let status = loop {
        let said = fs::read_to_string(&path).unwrap_or_default();
        let line = said.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let now = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        peak = peak.max(now);
        if let Some(status) = child.try_wait().expect("it is a child") {
            break status;
        }
        sleep(Duration::from_micros(500));
    };
    assert!(status.success(), "{command:?}: {status}");
    peak
}
