//! Reading requests ahead of what is being recorded, by a bounded amount.

use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use loopx::app::bulk::{self, BadLine};
use loopx::decide::Caller;
use loopx::ledger::Submission;
use loopx::limits::RECORD_MAX_BYTES;

/// Bytes that are read at once, and that are handed over together unless one line is longer.
const CHUNK_BYTES: usize = 64 << 10;

/// Chunks that may wait: whoever feeds faster than the disk takes is held up, by the pipe, once so many are read ahead.
const CHUNKS: usize = 16;

/// A line that is not blank.
pub struct Line {
    /// Its number, from 1.
    pub number: usize,
    /// What it asks for.
    pub request: Result<Submission, Broken>,
}

/// Why a line is no request. Nothing is read after it.
pub enum Broken {
    /// It says something else.
    Bad(BadLine),
    /// It could not be read.
    Unread(std::io::Error),
}

/// Reads standard input in a thread of its own. The lines come in the order in which they stand there; when there is no
/// more, the channel is closed. What has arrived is handed over before the next read waits for more, so that whoever feeds
/// a line and waits for its receipt gets it.
pub fn read(caller: Caller) -> Receiver<Vec<Line>> {
    let (sender, receiver) = sync_channel(CHUNKS);
    thread::spawn(move || {
        let mut input = BufReader::with_capacity(CHUNK_BYTES, std::io::stdin().lock());
        pass_on(&mut input, &caller, &sender);
    });
    receiver
}

fn pass_on(input: &mut BufReader<impl Read>, caller: &Caller, sender: &SyncSender<Vec<Line>>) {
    let (mut chunk, mut bytes, mut number) = (Vec::new(), 0, 0);
    let mut text = Vec::new();
    loop {
        text.clear();
        let read = read_line(input, &mut text);
        number += 1;
        let at_end = matches!(read, Ok(0));
        bytes += text.len();
        let request = match read {
            Ok(_) if text.iter().all(u8::is_ascii_whitespace) => None,
            Ok(_) => Some(bulk::parse(&text, caller).map_err(Broken::Bad)),
            Err(error) => Some(Err(Broken::Unread(error))),
        };
        let broken = matches!(request, Some(Err(_)));
        chunk.extend(request.map(|request| Line { number, request }));
        let stops = at_end || broken;
        if (stops || bytes >= CHUNK_BYTES || !input.buffer().contains(&b'\n')) && !chunk.is_empty() {
            bytes = 0;
            // Nobody listens any more: whoever did has said why.
            if sender.send(std::mem::take(&mut chunk)).is_err() {
                return;
            }
        }
        if stops {
            return;
        }
    }
}

/// A line with at most one byte more than a record may have, so that no input fills the memory.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<usize> {
    let limit = u64::try_from(RECORD_MAX_BYTES).unwrap_or(u64::MAX) + 1;
    Read::take(input, limit).read_until(b'\n', line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::RecvTimeoutError;
    use std::time::Duration;

    fn chunks(input: impl Read + Send + 'static) -> Receiver<Vec<Line>> {
        let (sender, receiver) = sync_channel(CHUNKS);
        thread::spawn(move || pass_on(&mut BufReader::new(input), &Caller::default(), &sender));
        receiver
    }

    const LINE: &str = "{\"command\":\"refresh-state\",\"next_action\":\"on\"}\n";

    #[test]
    fn lines_come_in_order_with_their_numbers_and_blank_ones_are_counted() {
        let text = format!("{LINE}\n  \n{LINE}{}", LINE.trim_end());
        let lines: Vec<Line> = chunks(std::io::Cursor::new(text)).iter().flatten().collect();
        assert!(lines.iter().all(|line| line.request.is_ok()));
        assert_eq!(lines.iter().map(|line| line.number).collect::<Vec<_>>(), [1, 4, 5]);
    }

    #[test]
    fn nothing_is_read_after_a_line_that_is_none() {
        let lines: Vec<Line> =
            chunks(std::io::Cursor::new(format!("{LINE}no\n{LINE}"))).iter().flatten().collect();
        assert_eq!(lines.len(), 2);
        assert!(matches!(lines[1], Line { number: 2, request: Err(Broken::Bad(_)) }));
        let long = " ".repeat(RECORD_MAX_BYTES - 1) + "xx\n" + LINE;
        let lines: Vec<Line> = chunks(std::io::Cursor::new(long)).iter().flatten().collect();
        assert!(matches!(
            lines[..],
            [Line { number: 1, request: Err(Broken::Bad(BadLine::TooLong { .. })) }]
        ));
    }

    #[test]
    fn a_line_is_handed_over_before_the_next_one_has_come() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let lines = chunks(reader);
        for number in 1..4 {
            std::io::Write::write_all(&mut writer, LINE.as_bytes()).unwrap();
            let chunk = lines.recv_timeout(Duration::from_secs(20)).unwrap();
            assert_eq!(chunk.iter().map(|line| line.number).collect::<Vec<_>>(), [number]);
        }
        drop(writer);
        assert!(matches!(
            lines.recv_timeout(Duration::from_secs(20)).map(drop),
            Err(RecvTimeoutError::Disconnected)
        ));
    }

    #[test]
    fn no_more_is_read_ahead_than_the_channel_holds() {
        // An endless input: it is not read further than so many chunks, each a read long.
        let (reader, mut writer) = std::io::pipe().unwrap();
        let lines = chunks(reader);
        let fed = thread::spawn(move || {
            let mut fed = 0_usize;
            while fed < 64 << 20 && std::io::Write::write_all(&mut writer, LINE.as_bytes()).is_ok() {
                fed += LINE.len();
            }
            fed
        });
        let first = lines.recv().unwrap();
        assert_eq!(first[0].number, 1);
        drop(lines);
        assert!(fed.join().unwrap() < 8 << 20, "the feeder was not held up");
    }
}
