//! A text file, plain or compressed, in blocks of whole lines.

use std::fmt::Write;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use memchr::{memchr, memchr_iter, memrchr};
use sha2::{Digest, Sha256};

use super::input::{Given, Input};
use super::lines::{Fault, Format, LONGEST, without_mark};
use super::problems::{Failure, Origin, Problems};
use super::stop::Stop;
use super::zstd::Frames;

/// How many bytes of text are looked at before any line is read.
const HEAD: usize = 1 << 16;

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
    input: Input,
    bytes: u64,
    sha256: Sha256,
}

impl Read for Stored {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.bytes += read as u64;
        self.sha256.update(&buffer[..read]);
        Ok(read)
    }
}

enum Text {
    Plain(Box<BufReader<Stored>>),
    Gzip(Box<MultiGzDecoder<BufReader<Stored>>>),
    Zstd(Box<Frames<BufReader<Stored>>>),
}

impl Text {
    /// The format shows in the first bytes; names are often wrong.
    fn new(input: Input) -> io::Result<Self> {
        let mut stored = BufReader::new(Stored {
            input,
            bytes: 0,
            sha256: Sha256::new(),
        });
        Ok(match stored.fill_buf()? {
            [0x1f, 0x8b, ..] => Self::Gzip(Box::new(MultiGzDecoder::new(stored))),
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
                Self::Zstd(Box::new(Frames::new(stored)))
            }
            _ => Self::Plain(Box::new(stored)),
        })
    }

    fn into_stored(self) -> Stored {
        match self {
            Self::Plain(stored) => *stored,
            Self::Gzip(decoder) => decoder.into_inner(),
            Self::Zstd(decoder) => decoder.source,
        }
        .into_inner()
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
    path: PathBuf,
    stop: Stop,
    /// The first bytes of the text, and the rest, of which there may be none.
    head: Cursor<Vec<u8>>,
    text: Text,
    is_all: bool,
    size: usize,
    /// The beginning of a line whose end lies in the next block.
    carry: Vec<u8>,
    blocks: u64,
    ended: bool,
}

impl Source {
    /// Blocks have about `size` bytes, or as many as a longer line needs. `-` is standard input.
    pub fn open(path: &Given, size: usize, stop: &Stop) -> Result<Self, Failure> {
        let input = Input::open(path, stop);
        Self::begin(path.path.clone(), input, size, stop.clone())
    }

    /// Like `open`, but the source can `restart`, also when it is a pipe.
    pub fn open_to_restart(path: &Given, size: usize, stop: &Stop) -> Result<Self, Failure> {
        let input = Input::open(path, stop).map(Input::keeping);
        Self::begin(path.path.clone(), input, size, stop.clone())
    }

    /// From the first block again.
    pub fn restart(self) -> Result<Self, Failure> {
        let input = self.text.into_stored().input.restart()?;
        Self::begin(self.path, Ok(input), self.size, self.stop)
    }

    fn begin(
        path: PathBuf,
        input: io::Result<Input>,
        size: usize,
        stop: Stop,
    ) -> Result<Self, Failure> {
        let mut head = vec![0; HEAD];
        let open = |input| {
            let mut text = Text::new(input)?;
            let filled = read_full(&mut text, &mut head)?;
            Ok((text, filled))
        };
        let (text, filled) = input
            .and_then(open)
            .map_err(|error| failure(&path, &stop, error))?;
        head.truncate(filled);
        check_text(&path, &head)?;
        Ok(Self {
            path,
            stop,
            head: Cursor::new(head),
            text,
            is_all: filled < HEAD,
            size,
            carry: Vec::new(),
            blocks: 0,
            ended: false,
        })
    }

    /// The first bytes of the text, as long as no block was taken.
    pub fn head(&self) -> &[u8] {
        self.head.get_ref()
    }

    /// Fills `block` with the next lines and returns the block's number, from 0.
    pub fn next_block(&mut self, block: &mut Vec<u8>) -> Result<Option<u64>, Failure> {
        self.stop.check()?;
        self.fill(block)
            .map_err(|error| failure(&self.path, &self.stop, error))
    }

    fn fill(&mut self, block: &mut Vec<u8>) -> io::Result<Option<u64>> {
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
            filled += read_full(&mut self.head, &mut block[filled..])?;
            if !self.is_all {
                filled += read_full(&mut self.text, &mut block[filled..])?;
            }
            if filled < block.len() {
                block.truncate(filled);
                break;
            }
            let end = memrchr(b'\n', block).map_or(0, |end| end + 1);
            if filled - end > 2 * LONGEST {
                // Too long however it ends: whoever takes the lines says so, with its number.
                break;
            }
            if end > 0 {
                self.carry.extend_from_slice(&block[end..]);
                block.truncate(end);
                self.ended = false;
                break;
            }
            block.resize(2 * filled, 0);
        }
        self.blocks += 1;
        Ok((!block.is_empty()).then_some(self.blocks - 1))
    }

    /// Hands over the fields of every content line with its number, from 1, and collects what is
    /// wrong.
    pub fn read_rows<const N: usize>(
        mut self,
        format: Format,
        mut take: impl for<'t> FnMut(u64, [&'t [u8]; N]) -> Result<(), Fault<'t>>,
    ) -> Result<(Problems, Provenance), Failure> {
        let mut problems = Problems::default();
        let (mut block, mut lines) = (Vec::new(), 0);
        while let Some(number) = self.next_block(&mut block)? {
            let text = without_mark(&block, number);
            lines += format.for_each_row(text, |line, fields| {
                let line = lines + line;
                if let Err(fault) = fields.and_then(|fields| take(line, *fields)) {
                    problems.add(line, || fault.to_string());
                }
            });
        }
        Ok((problems, self.provenance(lines)))
    }

    /// For the end of the text, when all that is stored has been read.
    pub fn provenance(self, lines: u64) -> Provenance {
        let stored = self.text.into_stored();
        let mut sha256 = String::new();
        for byte in stored.sha256.finalize() {
            let _ = write!(sha256, "{byte:02x}");
        }
        Provenance {
            lines,
            stored: Some((stored.bytes, sha256)),
        }
    }
}

/// That the beginning of a text is none of a binary file, of which lines make no sense.
fn check_text(path: &Path, head: &[u8]) -> Result<(), Failure> {
    let Some(place) = memchr(0, head) else {
        return Ok(());
    };
    let line = 1 + memchr_iter(b'\n', &head[..place]).count();
    let mut problems = Problems::default();
    problems.add(line as u64, || Fault::Binary.to_string());
    Err(Failure::Input(problems.report(Origin::File(path))))
}

/// Who asked to stop is not told of what that broke.
fn failure(path: &Path, stop: &Stop, error: io::Error) -> Failure {
    if stop.is_set() {
        Failure::Stopped
    } else {
        Failure::reading(path, error)
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
