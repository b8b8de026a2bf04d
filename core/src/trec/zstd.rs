//! A Zstandard file of any number of frames, skippable ones among them.

use std::io::{self, BufRead, Error, ErrorKind, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

pub struct Frames<R> {
    pub source: R,
    decoder: FrameDecoder,
    inside: bool,
}

impl<R: BufRead> Frames<R> {
    pub fn new(source: R) -> Self {
        Self {
            source,
            decoder: FrameDecoder::new(),
            inside: false,
        }
    }

    /// Starts the next frame; false if it was one to skip.
    fn begin(&mut self) -> io::Result<bool> {
        use FrameDecoderError::ReadFrameHeaderError as Header;
        match self.decoder.init(&mut self.source) {
            Ok(()) => Ok(true),
            Err(Header(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                let length = u64::from(length);
                let skipped = io::copy(&mut self.source.by_ref().take(length), &mut io::sink())?;
                if skipped < length {
                    Err(ErrorKind::UnexpectedEof.into())
                } else {
                    Ok(false)
                }
            }
            Err(error) => Err(corrupt(error)),
        }
    }

    /// Zero at the end of the frame.
    fn decode(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
            self.decoder
                .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1))
                .map_err(corrupt)?;
        }
        self.decoder.read(buffer)
    }

    fn check(&self) -> io::Result<()> {
        let stored = self.decoder.get_checksum_from_data();
        if stored.is_some() && stored != self.decoder.get_calculated_checksum() {
            return Err(corrupt("the checksum does not fit the data"));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.inside {
                let read = self.decode(buffer)?;
                if read > 0 || buffer.is_empty() {
                    return Ok(read);
                }
                self.check()?;
            } else if self.source.fill_buf()?.is_empty() {
                return Ok(0);
            }
            self.inside = !self.inside && self.begin()?;
        }
    }
}

fn corrupt(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::new(ErrorKind::InvalidData, error)
}
