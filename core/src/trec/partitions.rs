//! Rows by partitions of their topics: in memory up to a budget, beyond that in a temporary file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::mem;

use super::problems::Failure;
use super::topic::hash;

/// Each must fit into memory in the end, for all rows of a topic are in the same.
pub const PARTITIONS: usize = 256;

/// A row as it is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row<'t> {
    pub topic: &'t [u8],
    pub doc: &'t [u8],
    pub at: u64,
    pub score: f64,
}

/// The rows of one block, encoded, by partition.
pub struct Scattered(Vec<Vec<u8>>);

impl Default for Scattered {
    fn default() -> Self {
        Self(vec![Vec::new(); PARTITIONS])
    }
}

impl Scattered {
    #[inline]
    pub fn push(&mut self, row: Row) {
        let bytes = &mut self.0[hash(row.topic) as usize % PARTITIONS];
        put_bytes(bytes, row.topic);
        put_bytes(bytes, row.doc);
        put(bytes, row.at);
        bytes.extend_from_slice(&row.score.to_le_bytes());
    }
}

/// The rows of all blocks.
pub struct Partitions {
    parts: Vec<Part>,
    /// How many bytes of memory are taken, and how many may be.
    bytes: usize,
    budget: usize,
    file: Option<File>,
}

#[derive(Clone, Default)]
struct Part {
    /// Start and length of what stands in the file.
    stored: Vec<(u64, usize)>,
    /// What comes after that.
    recent: Vec<u8>,
}

impl Partitions {
    pub fn new(budget: usize) -> Self {
        Self {
            parts: vec![Part::default(); PARTITIONS],
            bytes: 0,
            budget,
            file: None,
        }
    }

    /// Adds the rows of the next block, which starts `base` lines after the first.
    pub fn append(&mut self, block: &Scattered, base: u64) -> Result<(), Failure> {
        for (part, rows) in self.parts.iter_mut().zip(&block.0) {
            if !rows.is_empty() {
                let before = part.recent.capacity();
                put(&mut part.recent, base);
                put_bytes(&mut part.recent, rows);
                self.bytes += part.recent.capacity() - before;
            }
        }
        if self.bytes > self.budget {
            self.store().map_err(Failure::Temporary)?;
        }
        Ok(())
    }

    /// Moves all rows from memory to the file.
    fn store(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        for part in &mut self.parts {
            let rows = mem::take(&mut part.recent);
            if !rows.is_empty() {
                part.stored.push((file.stream_position()?, rows.len()));
                file.write_all(&rows)?;
            }
        }
        self.bytes = 0;
        Ok(())
    }

    /// Takes a partition out; `rows` gives its rows.
    pub fn take(&mut self, number: usize) -> Result<Vec<u8>, Failure> {
        let Part { stored, recent } = mem::take(&mut self.parts[number]);
        let Some(file) = &mut self.file else {
            return Ok(recent);
        };
        let mut bytes = Vec::new();
        for (start, length) in stored {
            read_part(file, start, length, &mut bytes).map_err(Failure::Temporary)?;
        }
        bytes.extend(recent);
        Ok(bytes)
    }
}

fn read_part(file: &mut File, start: u64, length: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
    let end = bytes.len();
    bytes.resize(end + length, 0);
    file.seek(SeekFrom::Start(start))?;
    file.read_exact(&mut bytes[end..])
}

/// The rows of a partition in their order.
pub fn rows(mut partition: &[u8]) -> impl Iterator<Item = Row<'_>> {
    let (mut base, mut block) = (0, &[][..]);
    std::iter::from_fn(move || {
        if block.is_empty() {
            if partition.is_empty() {
                return None;
            }
            base = get(&mut partition);
            block = get_bytes(&mut partition);
        }
        let topic = get_bytes(&mut block);
        let doc = get_bytes(&mut block);
        let at = base + get(&mut block);
        let (score, rest) = block.split_first_chunk().expect("rows are whole");
        block = rest;
        Some(Row {
            topic,
            doc,
            at,
            score: f64::from_le_bytes(*score),
        })
    })
}

/// Seven bits a byte, the lowest first; the highest bit says that there are more.
#[inline]
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

#[inline]
fn put_bytes(bytes: &mut Vec<u8>, text: &[u8]) {
    put(bytes, text.len() as u64);
    bytes.extend_from_slice(text);
}

#[inline]
fn get(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..).step_by(7) {
        let (&byte, rest) = bytes.split_first().expect("numbers are whole");
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    number
}

#[inline]
fn get_bytes<'t>(bytes: &mut &'t [u8]) -> &'t [u8] {
    let length = get(bytes) as usize;
    let (text, rest) = bytes.split_at(length);
    *bytes = rest;
    text
}
