//! How deep the values of JSON Lines nest, known before anything parses them.

use pyo3::prelude::*;

use crate::parallel::detached;

/// The place of the first byte too deep, if there is one, and the position behind the block.
type Excess = (Option<usize>, (u32, bool, bool));

/// Where a reader is within a line: inside so many lists and objects, and perhaps in a string, after a
/// backslash.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Position {
    depth: u32,
    in_string: bool,
    is_escaped: bool,
}

impl Position {
    /// Go on behind a byte. A line feed ends all, as a string has none.
    fn advance(&mut self, byte: u8) {
        if byte == b'\n' {
            *self = Self::default();
        } else if self.is_escaped {
            self.is_escaped = false;
        } else if self.in_string {
            self.is_escaped = byte == b'\\';
            self.in_string = byte != b'"';
        } else {
            match byte {
                b'"' => self.in_string = true,
                b'[' | b'{' => self.depth += 1,
                b']' | b'}' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }
}

/// The first byte of a block at which more lists and objects are open than the limit, and the position
/// behind the block, from which the next one goes on.
#[pyfunction]
pub fn json_depth_excess(
    py: Python<'_>,
    block: &[u8],
    position: (u32, bool, bool),
    limit: u32,
) -> PyResult<Excess> {
    detached(py, [block.len()], |_| {
        let (depth, in_string, is_escaped) = position;
        let mut now = Position {
            depth,
            in_string,
            is_escaped,
        };
        for (place, &byte) in block.iter().enumerate() {
            now.advance(byte);
            if now.depth > limit {
                return (Some(place), (now.depth, now.in_string, now.is_escaped));
            }
        }
        (None, (now.depth, now.in_string, now.is_escaped))
    })
}
