//! Where stored bytes come from: a file, or a pipe, which gives them only once.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::SpooledTempFile;

use super::problems::Failure;
use super::stop::Stop;

/// How many bytes of a pipe are kept in memory; more go to a temporary file.
const IN_MEMORY: usize = 1 << 22;

/// A path; what was read already of the pipe that it stands for, and that pipe as it is open: once
/// its writer is done, one that is opened anew would wait for another.
pub struct Given {
    pub path: PathBuf,
    pub begun: Vec<u8>,
    pub file: Option<i32>,
}

impl From<&Path> for Given {
    fn from(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            begun: Vec::new(),
            file: None,
        }
    }
}

pub enum Input {
    File { file: File, start: u64 },
    Pipe(Pipe),
}

pub struct Pipe {
    file: File,
    stop: Stop,
    /// What somebody else has taken out of it.
    begun: Cursor<Vec<u8>>,
    /// What has been read, for reading it again; without it, if that was not asked for. That it
    /// could not be kept matters only once it is needed.
    kept: Option<io::Result<SpooledTempFile>>,
    /// What is read again before the rest.
    again: Option<SpooledTempFile>,
}

impl Input {
    /// `-` is standard input.
    pub fn open(given: &Given, stop: &Stop) -> io::Result<Self> {
        let path = given.path.as_path();
        let mut file = match given.file {
            Some(file) => again(file)?,
            None if path == Path::new("-") => standard_input()?,
            None => opened(path)?,
        };
        if file.metadata()?.is_file() {
            let start = file.stream_position()?;
            return Ok(Self::File { file, start });
        }
        Ok(Self::Pipe(Pipe {
            file,
            stop: stop.clone(),
            kept: None,
            begun: Cursor::new(given.begun.clone()),
            again: None,
        }))
    }

    /// Keeps what a pipe gives, for `restart`.
    pub fn keeping(mut self) -> Self {
        if let Self::Pipe(pipe) = &mut self {
            pipe.kept = Some(Ok(SpooledTempFile::new(IN_MEMORY)));
        }
        self
    }

    /// From the first byte again; once only, and after `keeping`.
    pub fn restart(self) -> Result<Self, Failure> {
        match self {
            Self::File { mut file, start } => {
                file.seek(SeekFrom::Start(start)).map_err(Failure::Io)?;
                Ok(Self::File { file, start })
            }
            Self::Pipe(pipe) => {
                let mut kept = pipe
                    .kept
                    .expect("what is to restart was opened so")
                    .map_err(Failure::Temporary)?;
                kept.rewind().map_err(Failure::Temporary)?;
                Ok(Self::Pipe(Pipe {
                    kept: None,
                    again: Some(kept),
                    ..pipe
                }))
            }
        }
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File { file, .. } => file.read(buffer),
            Self::Pipe(pipe) => pipe.read(buffer),
        }
    }
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(again) = &mut self.again {
            let read = again.read(buffer)?;
            if read > 0 {
                return Ok(read);
            }
            self.again = None;
        }
        let begun = self.begun.read(buffer)?;
        let read = loop {
            if begun > 0 || buffer.is_empty() {
                break begun;
            }
            wait(&self.file, &self.stop)?;
            match self.file.read(buffer) {
                // Another reader was quicker.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => break read?,
            }
        };
        if let Some(Ok(kept)) = &mut self.kept {
            if let Err(error) = kept.write_all(&buffer[..read]) {
                self.kept = Some(Err(error));
            }
        }
        Ok(read)
    }
}

/// Without waiting for the writer of a named pipe, which may never come: `wait` does that.
#[cfg(unix)]
fn opened(path: &Path) -> io::Result<File> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;

    let flags = OFlags::NONBLOCK.bits().cast_signed();
    File::options().read(true).custom_flags(flags).open(path)
}

#[cfg(not(unix))]
fn opened(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// A file that the caller has open, and keeps so meanwhile.
#[cfg(unix)]
fn again(file: i32) -> io::Result<File> {
    use std::os::fd::BorrowedFd;

    // SAFETY: the caller, who holds the interpreter's object of it, keeps it open.
    let file = unsafe { BorrowedFd::borrow_raw(file) };
    file.try_clone_to_owned().map(File::from)
}

#[cfg(not(unix))]
fn again(_: i32) -> io::Result<File> {
    standard_input()
}

/// Waits until there is something to read, so that one can be asked to stop meanwhile.
#[cfg(unix)]
fn wait(pipe: &File, stop: &Stop) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::Errno;

    let patience = Timespec {
        tv_sec: 0,
        tv_nsec: 50_000_000,
    };
    loop {
        if stop.is_set() {
            return Err(io::Error::other("stopped"));
        }
        match poll(&mut [PollFd::new(pipe, PollFlags::IN)], Some(&patience)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(not(unix))]
#[allow(clippy::unnecessary_wraps)]
fn wait(_: &File, _: &Stop) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn standard_input() -> io::Result<File> {
    use std::os::fd::AsFd;
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
fn standard_input() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    io::stdin().as_handle().try_clone_to_owned().map(File::from)
}
