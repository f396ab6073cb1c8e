//! One run: a sorted, immutable file of keys and places.
//!
//! ```text
//! header   384 bytes of text, padded with spaces, LF:
//!          loopx-index/2 FIRST PREV LAST HASH TIME SEGMENT END COUNT DIGEST
//! fences   for each block: its first key (8 bytes), the head of its digest (16 bytes)
//! blocks   entries of 20 bytes: key (8), seq (8), offset (4); all big-endian, sorted
//! ```
//! PREV is the hash of the record before FIRST; HASH, TIME, SEGMENT and END are where LAST ends. DIGEST is of the other
//! header fields and the fences; each fence vouches for its block. So a lookup verifies what it reads, and reads little.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{Place, RUN_RECORDS};
use crate::hash::Hash;
use crate::id::Seq;
use crate::log::Cursor;
use crate::scratch;
use crate::time::Timestamp;

const HEADER_BYTES: usize = 384;
const FENCE_BYTES: usize = 24;
const ENTRY_BYTES: usize = 20;
const BLOCK_ENTRIES: usize = 204;
const BLOCK_BYTES: usize = BLOCK_ENTRIES * ENTRY_BYTES;

/// A key's digest and a place where it occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// First eight bytes of the key's BLAKE3.
    pub key: u64,
    /// Where.
    pub place: Place,
}

/// A run whose header and fences hold.
#[derive(Debug)]
pub struct Run {
    path: PathBuf,
    /// Kept open: a run that was merged meanwhile can still be read.
    file: File,
    span: Span,
    count: usize,
    fences: Vec<Fence>,
}

/// The records that a run is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    /// The first one.
    pub first: Seq,
    /// The hash of the record before it.
    pub prev: Hash,
    /// Just after the last one.
    pub end: Cursor,
}

impl Span {
    fn fields(&self) -> String {
        let Self { first, prev, end } = self;
        let Cursor { seq, hash, ts, segment, end } = end;
        format!("loopx-index/2 {first} {prev} {seq} {hash} {ts} {segment} {end}")
    }

    fn parse(fields: &[&str]) -> Option<Self> {
        let [first, prev, seq, hash, ts, segment, end] = fields else { return None };
        let end = Cursor {
            seq: seq.parse().ok()?,
            hash: hash.parse().ok()?,
            ts: Timestamp::parse_fixed(ts.as_bytes())?,
            segment: segment.parse().ok()?,
            end: end.parse().ok()?,
        };
        Some(Self { first: first.parse().ok()?, prev: prev.parse().ok()?, end })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fence {
    key: u64,
    digest: [u8; 16],
}

/// The name of the run of these records.
pub(super) fn name(first: Seq, last: Seq) -> String {
    format!("{:020}-{:020}.run", first.0, last.0)
}

/// The records that a file of this name holds; none if it is no run.
pub(super) fn range(name: &str) -> Option<(Seq, Seq)> {
    let (first, last) = name.strip_suffix(".run")?.split_once('-')?;
    let number = |digits: &str| (digits.len() == 20).then(|| digits.parse().ok().map(Seq)).flatten();
    Some((number(first)?, number(last)?))
}

fn block_digest(block: &[u8]) -> [u8; 16] {
    let Hash(bytes) = Hash::blob(block);
    let mut head = [0; 16];
    head.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
    head
}

fn encode(entries: &[Entry]) -> Vec<u8> {
    let mut out = Vec::with_capacity(entries.len() * ENTRY_BYTES);
    for Entry { key, place } in entries {
        out.extend_from_slice(&key.to_be_bytes());
        out.extend_from_slice(&place.seq.0.to_be_bytes());
        // A segment is at most 16 MiB long, so an offset in it fits.
        out.extend_from_slice(&u32::try_from(place.offset).unwrap_or(u32::MAX).to_be_bytes());
    }
    out
}

fn decode(block: &[u8]) -> Vec<Entry> {
    let number = |bytes: &[u8]| bytes.iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    let one = |bytes: &[u8]| {
        let (key, rest) = bytes.split_at_checked(8)?;
        let (seq, offset) = rest.split_at_checked(8)?;
        Some(Entry { key: number(key), place: Place { seq: Seq(number(seq)), offset: number(offset) } })
    };
    block.chunks_exact(ENTRY_BYTES).filter_map(one).collect()
}

fn vouch(span: &Span, count: usize, fences: &[u8]) -> Hash {
    let mut bytes = format!("{} {count}\n", span.fields()).into_bytes();
    bytes.extend_from_slice(fences);
    Hash::blob(&bytes)
}

impl Run {
    /// Writes a run and puts it in its place at once.
    pub(super) fn write(directory: &Path, span: &Span, mut entries: Vec<Entry>) -> std::io::Result<Self> {
        entries.sort_unstable();
        entries.dedup();
        let blocks: Vec<Vec<u8>> = entries.chunks(BLOCK_ENTRIES).map(encode).collect();
        let mut fences = Vec::with_capacity(blocks.len() * FENCE_BYTES);
        for (block, entries) in blocks.iter().zip(entries.chunks(BLOCK_ENTRIES)) {
            fences.extend_from_slice(&entries.first().map_or(0, |entry| entry.key).to_be_bytes());
            fences.extend_from_slice(&block_digest(block));
        }
        let digest = vouch(span, entries.len(), &fences);
        let header = format!("{} {} {digest}", span.fields(), entries.len());
        let mut bytes = format!("{header:<width$}\n", width = HEADER_BYTES - 1).into_bytes();
        bytes.extend_from_slice(&fences);
        bytes.extend(blocks.into_iter().flatten());
        scratch::clear(directory);
        let path = directory.join(name(span.first, span.end.seq));
        let temporary = scratch::beside(&path);
        let written = File::create(&temporary).and_then(|mut file| file.write_all(&bytes));
        if let Err(error) = written.and_then(|()| fs::rename(&temporary, &path)) {
            let _ = fs::remove_file(&temporary);
            return Err(error);
        }
        Self::open(&path).ok_or_else(|| std::io::Error::other("a run did not read back"))
    }

    /// Opens a run: its header and fences are read and must hold.
    pub(super) fn open(path: &Path) -> Option<Self> {
        let mut file = File::open(path).ok()?;
        let mut header = vec![0; HEADER_BYTES];
        file.read_exact(&mut header).ok()?;
        let text = std::str::from_utf8(&header).ok()?.strip_suffix('\n')?;
        let fields: Vec<&str> = text.trim_end_matches(' ').split(' ').collect();
        let ["loopx-index/2", span @ .., count, digest] = fields.as_slice() else { return None };
        let span = Span::parse(span)?;
        let (digest, count): (Hash, usize) = (digest.parse().ok()?, count.parse().ok()?);
        let length = usize::try_from(file.metadata().ok()?.len()).ok()?;
        let blocks = count.div_ceil(BLOCK_ENTRIES);
        let fence_bytes = blocks.checked_mul(FENCE_BYTES)?;
        let whole = count.checked_mul(ENTRY_BYTES)?.checked_add(fence_bytes)?.checked_add(HEADER_BYTES)?;
        let named = range(path.file_name()?.to_str()?)?;
        if length != whole || span.end.seq < span.first || named != (span.first, span.end.seq) {
            return None;
        }
        let mut fences = vec![0; fence_bytes];
        file.read_exact(&mut fences).ok()?;
        if vouch(&span, count, &fences) != digest {
            return None;
        }
        let fence = |bytes: &[u8]| {
            let (key, digest) = bytes.split_at_checked(8)?;
            let key = u64::from_be_bytes(key.try_into().ok()?);
            Some(Fence { key, digest: digest.try_into().ok()? })
        };
        let fences = fences.chunks_exact(FENCE_BYTES).map(fence).collect::<Option<Vec<_>>>()?;
        Some(Self { path: path.to_owned(), file, span, count, fences })
    }

    pub(super) const fn span(&self) -> &Span {
        &self.span
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// How often this run's records were merged: 0 for a run as it was first written.
    pub(super) fn level(&self) -> u32 {
        let runs = (self.span.end.seq.0 - self.span.first.0 + 1).div_ceil(RUN_RECORDS).max(1);
        runs.ilog2() / 3
    }

    /// The places of these keys, given in order; `None` if a block does not hold. A block that several keys lie in is read
    /// and checked once.
    pub(super) fn find(&self, keys: &[u64]) -> Option<Vec<Place>> {
        let mut places = Vec::new();
        let mut held: (usize, Vec<Entry>) = (usize::MAX, Vec::new());
        for key in keys.iter().copied() {
            // The block before the first fence of a larger key may end with this one.
            let mut at = self.fences.partition_point(|fence| fence.key < key).saturating_sub(1);
            while self.fences.get(at).is_some_and(|fence| fence.key <= key) {
                if held.0 != at {
                    held = (at, self.block(at)?);
                }
                let from = held.1.partition_point(|entry| entry.key < key);
                let found = held.1.iter().skip(from).take_while(|entry| entry.key == key);
                places.extend(found.map(|entry| entry.place));
                at += 1;
            }
        }
        Some(places)
    }

    /// Every entry, in order; `None` if a block does not hold.
    pub(super) fn entries(&self) -> Option<Vec<Entry>> {
        let mut all = Vec::with_capacity(self.count);
        for at in 0..self.fences.len() {
            all.extend(self.block(at)?);
        }
        Some(all)
    }

    fn block(&self, at: usize) -> Option<Vec<Entry>> {
        let start = HEADER_BYTES + self.fences.len() * FENCE_BYTES + at * BLOCK_BYTES;
        let length = (self.count - at * BLOCK_ENTRIES).min(BLOCK_ENTRIES) * ENTRY_BYTES;
        let mut file = &self.file;
        file.seek(SeekFrom::Start(u64::try_from(start).ok()?)).ok()?;
        let mut block = vec![0; length];
        file.read_exact(&mut block).ok()?;
        (self.fences.get(at)?.digest == block_digest(&block)).then(|| decode(&block))
    }
}
