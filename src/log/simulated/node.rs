//! One file: what the page cache holds, what the disk holds, and what may be found of the difference after a crash.

use std::collections::{BTreeMap, BTreeSet};

use super::dice::Dice;
use super::image::Mode;

/// What a disk writes at once.
pub(super) const SECTOR: usize = 512;

/// What the page cache holds at once.
const PAGE: usize = 4096;

/// How many of a sector's unsynced contents are remembered.
const VERSIONS: usize = 4;

/// How many of a file's unsynced lengths are remembered.
const LENGTHS: usize = 8;

type Sector = [u8; SECTOR];

/// How a crash treats what was not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Temper {
    /// All of it is lost.
    Old,
    /// All of it is kept.
    New,
    /// Each part has its own fate.
    Mixed,
}

impl Temper {
    /// Whether a thing that is not synced is kept.
    pub(super) fn keeps(self, dice: &mut Dice) -> bool {
        match self {
            Self::Old => false,
            Self::New => true,
            Self::Mixed => dice.once_in(2),
        }
    }
}

/// A file.
#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    /// What every process sees.
    pub cached: Vec<u8>,
    /// What has certainly been written, in whole sectors.
    disk: Vec<u8>,
    /// Sectors that were written since, each with the contents that it had, oldest first.
    dirty: BTreeMap<usize, Vec<Sector>>,
    /// Sectors that a failed sync took to be clean: no later sync writes them.
    lost: BTreeSet<usize>,
    /// The lengths that the disk may know, oldest first.
    lengths: Vec<usize>,
    /// How many writes there were; decides which old contents had been written back.
    writes: usize,
}

impl Node {
    pub(super) fn new() -> Self {
        Self { lengths: vec![0], ..Self::default() }
    }

    fn sector(bytes: &[u8], index: usize) -> Sector {
        let mut sector = [0; SECTOR];
        let start = (index * SECTOR).min(bytes.len());
        let end = (start + SECTOR).min(bytes.len());
        sector[..end - start].copy_from_slice(&bytes[start..end]);
        sector
    }

    fn flush(&mut self, index: usize, sector: &Sector) {
        let end = (index + 1) * SECTOR;
        if self.disk.len() < end {
            self.disk.resize(end, 0);
        }
        self.disk[index * SECTOR..end].copy_from_slice(sector);
    }

    fn soil(&mut self, index: usize) {
        self.writes += 1;
        let sector = Self::sector(&self.cached, index);
        let versions = self.dirty.entry(index).or_default();
        versions.push(sector);
        if versions.len() > VERSIONS {
            let oldest = versions.remove(0);
            if self.writes.is_multiple_of(2) {
                self.flush(index, &oldest);
            }
        }
        self.lost.remove(&index);
    }

    fn resized(&mut self) {
        self.lengths.push(self.cached.len());
        if self.lengths.len() > LENGTHS {
            self.lengths.remove(1);
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8], offset: usize) {
        let end = offset + bytes.len();
        let grows = end > self.cached.len();
        if grows {
            self.cached.resize(end, 0);
        }
        self.cached[offset..end].copy_from_slice(bytes);
        if !bytes.is_empty() {
            for index in offset / SECTOR..=(end - 1) / SECTOR {
                self.soil(index);
            }
        }
        if grows {
            self.resized();
        }
    }

    pub(super) fn truncate(&mut self, length: usize) {
        if length >= self.cached.len() {
            return;
        }
        let beyond = length.div_ceil(SECTOR);
        for (index, versions) in self.dirty.split_off(&beyond) {
            if let Some(last) = versions.last().filter(|_| (self.writes + index).is_multiple_of(2)) {
                self.flush(index, last);
            }
        }
        self.lost.retain(|index| *index < beyond);
        self.cached.truncate(length);
        if !length.is_multiple_of(SECTOR) {
            self.soil(length / SECTOR);
        }
        self.resized();
    }

    /// Whether a journal has something to write when this file's data is synced.
    pub(super) fn is_resized(&self) -> bool {
        self.lengths.len() > 1
    }

    /// Writes everything that is dirty. A data sync owes nobody that the file has become shorter.
    pub(super) fn sync(&mut self, mode: Mode, data_only: bool) {
        for (index, versions) in std::mem::take(&mut self.dirty) {
            self.flush(index, versions.last().unwrap());
        }
        let length = self.cached.len();
        let longer = data_only && mode == Mode::Worst;
        self.lengths.retain(|found| longer && *found > length);
        self.lengths.push(length);
        // Blocks behind the end are free now; what they held is not found there again.
        let longest = self.lengths.iter().max().unwrap().div_ceil(SECTOR) * SECTOR;
        self.disk.truncate(longest);
    }

    /// A sync that fails: some sectors are written, and the others are taken to be clean.
    pub(super) fn fail_sync(&mut self, dice: &mut Dice) {
        let temper = dice.pick(&[Temper::Old, Temper::Mixed, Temper::New]);
        for (index, versions) in std::mem::take(&mut self.dirty) {
            if temper.keeps(dice) {
                self.flush(index, versions.last().unwrap());
            } else {
                self.lost.insert(index);
            }
        }
    }

    /// Drops pages that are taken to be clean; what is read then comes from the disk. True if anything changed.
    pub(super) fn evict(&mut self) -> bool {
        let lost = std::mem::take(&mut self.lost);
        for index in &lost {
            let sector = Self::sector(&self.disk, *index);
            let start = (index * SECTOR).min(self.cached.len());
            let end = (start + SECTOR).min(self.cached.len());
            self.cached[start..end].copy_from_slice(&sector[..end - start]);
        }
        !lost.is_empty()
    }

    /// What is found after a loss of power.
    pub(super) fn crash(&self, mode: Mode, temper: Temper, dice: &mut Dice) -> Self {
        let length = self.found_length(mode, temper, dice);
        let ordered_from = self.lengths[0].div_ceil(PAGE) * PAGE;
        let mut found = Vec::with_capacity(length.next_multiple_of(SECTOR));
        for index in 0..length.div_ceil(SECTOR) {
            let versions = self.dirty.get(&index).map(Vec::as_slice).unwrap_or_default();
            let data_first = mode == Mode::Ordered && index * SECTOR >= ordered_from;
            let sector = match versions {
                [.., last] if data_first || temper == Temper::New => *last,
                [_, ..] if temper == Temper::Mixed && !dice.once_in(3) => {
                    if dice.once_in(2) {
                        versions[versions.len() - 1]
                    } else {
                        dice.pick(versions)
                    }
                }
                _ => Self::sector(&self.disk, index),
            };
            found.extend_from_slice(&sector);
        }
        let mut cached = found.clone();
        cached.truncate(length);
        Self { cached, disk: found, lengths: vec![length], writes: self.writes, ..Self::default() }
    }

    fn found_length(&self, mode: Mode, temper: Temper, dice: &mut Dice) -> usize {
        match temper {
            Temper::Old => self.lengths[0],
            Temper::New => self.cached.len(),
            Temper::Mixed if mode == Mode::Worst && dice.once_in(4) => {
                let least = self.lengths.iter().min().unwrap();
                let most = self.lengths.iter().max().unwrap();
                least + dice.roll(most - least + 1)
            }
            Temper::Mixed => dice.pick(&self.lengths),
        }
    }
}
