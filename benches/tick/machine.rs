//! What the figures were taken on.

use std::fs;
use std::path::Path;

/// Cores, processor, kernel and the file system of `directory`, in one line.
pub fn describe(directory: &Path) -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("unknown processor");
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!(
        "{cores} cores, {}, {} {}, {}",
        model.trim_start_matches([':', '\t', ' ']),
        std::env::consts::OS,
        kernel.trim(),
        file_system(directory)
    )
}

/// The type of the file system that `directory` lies on: that of the longest mount point above it.
fn file_system(directory: &Path) -> String {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let found = mounts
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ').skip(1);
            Some((words.next()?, words.next()?))
        })
        .filter(|(mount, _)| directory.starts_with(mount))
        .max_by_key(|(mount, _)| mount.len());
    found.map_or_else(|| "unknown file system".to_owned(), |(_, kind)| kind.to_owned())
}
