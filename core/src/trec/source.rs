//! A text file, plain or compressed, in blocks of whole lines.

use std::fmt::Write;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use memchr::memrchr;
use sha2::{Digest, Sha256};

use super::zstd::Frames;

/// What a result remembers of its input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Provenance {
    /// Lines of a file or rows of columns.
    pub lines: u64,
    /// Size and SHA-256 of a file as it is stored.
    pub stored: Option<(u64, String)>,
}

/// The bytes as they stand on disk, digested as they pass.
struct Stored {
    file: File,
    bytes: u64,
    sha256: Sha256,
}

impl Read for Stored {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.bytes += read as u64;
        self.sha256.update(&buffer[..read]);
        Ok(read)
    }
}

enum Text {
    Plain(BufReader<Stored>),
    Gzip(Box<MultiGzDecoder<BufReader<Stored>>>),
    Zstd(Box<Frames<BufReader<Stored>>>),
}

impl Text {
    /// The format shows in the first bytes; names are often wrong.
    fn new(mut stored: BufReader<Stored>) -> io::Result<Self> {
        Ok(match stored.fill_buf()? {
            [0x1f, 0x8b, ..] => Self::Gzip(Box::new(MultiGzDecoder::new(stored))),
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
                Self::Zstd(Box::new(Frames::new(stored)))
            }
            _ => Self::Plain(stored),
        })
    }

    fn stored(&self) -> &Stored {
        match self {
            Self::Plain(stored) => stored,
            Self::Gzip(decoder) => decoder.get_ref(),
            Self::Zstd(decoder) => &decoder.source,
        }
        .get_ref()
    }
}

impl Read for Text {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stored) => stored.read(buffer),
            Self::Gzip(decoder) => decoder.read(buffer),
            Self::Zstd(decoder) => decoder.read(buffer),
        }
    }
}

pub struct Source {
    text: Text,
    regular: bool,
    size: usize,
    /// The beginning of a line whose end lies in the next block.
    carry: Vec<u8>,
    blocks: u64,
    ended: bool,
}

impl Source {
    /// Blocks have about `size` bytes, or as many as a longer line needs.
    pub fn open(path: &Path, size: usize) -> io::Result<Self> {
        let file = File::open(path)?;
        let regular = file.metadata()?.is_file();
        let stored = Stored {
            file,
            bytes: 0,
            sha256: Sha256::new(),
        };
        let text = Text::new(BufReader::new(stored))?;
        Ok(Self {
            text,
            regular,
            size,
            carry: Vec::new(),
            blocks: 0,
            ended: false,
        })
    }

    /// Whether opening the path again gives the same text; a pipe's is gone.
    pub fn is_regular(&self) -> bool {
        self.regular
    }

    /// Fills `block` with the next lines and returns the block's number, from 0.
    pub fn next_block(&mut self, block: &mut Vec<u8>) -> io::Result<Option<u64>> {
        if self.ended {
            return Ok(None);
        }
        // Stands until the block is complete, so that nobody reads on after an error.
        self.ended = true;
        block.resize(self.size.max(self.carry.len()), 0);
        block[..self.carry.len()].copy_from_slice(&self.carry);
        let mut filled = self.carry.len();
        self.carry.clear();
        loop {
            filled += read_full(&mut self.text, &mut block[filled..])?;
            if filled < block.len() {
                block.truncate(filled);
                break;
            }
            if let Some(end) = memrchr(b'\n', block) {
                self.carry.extend_from_slice(&block[end + 1..]);
                block.truncate(end + 1);
                self.ended = false;
                break;
            }
            block.resize(2 * filled, 0);
        }
        self.blocks += 1;
        Ok((!block.is_empty()).then_some(self.blocks - 1))
    }

    /// For the end of the text, when all that is stored has been read.
    pub fn provenance(self, lines: u64) -> Provenance {
        let stored = self.text.stored();
        let mut sha256 = String::new();
        for byte in stored.sha256.clone().finalize() {
            let _ = write!(sha256, "{byte:02x}");
        }
        Provenance {
            lines,
            stored: Some((stored.bytes, sha256)),
        }
    }
}

/// Reads until the buffer is full or the text ends.
fn read_full(text: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match text.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
