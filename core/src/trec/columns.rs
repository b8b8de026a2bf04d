//! Judgments and runs as columns in memory.

// Sizes in memory.
#![allow(clippy::cast_possible_wrap)]

/// Byte strings as in Arrow's `large_binary`: row `i` is `data[offsets[i]..offsets[i + 1]]`.
#[derive(Clone, Copy)]
pub struct Strings<'a> {
    offsets: &'a [i64],
    data: &'a [u8],
}

impl<'a> Strings<'a> {
    /// Checks that every row lies inside the data; otherwise says what is wrong.
    pub fn new(offsets: &'a [i64], data: &'a [u8]) -> Result<Self, String> {
        let (Some(&first), Some(&last)) = (offsets.first(), offsets.last()) else {
            return Err("offsets are empty, expected one more than rows".to_owned());
        };
        let fits = usize::try_from(last).is_ok_and(|last| last <= data.len());
        if first < 0 || !fits || !offsets.is_sorted() {
            return Err(format!(
                "offsets must not fall and must stay in 0 to {}",
                data.len()
            ));
        }
        Ok(Self { offsets, data })
    }

    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    #[inline]
    pub fn get(&self, row: usize) -> &'a [u8] {
        &self.data[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }
}

/// Rows of topic, document and value; the three are equally long.
#[derive(Clone, Copy)]
pub struct Columns<'a, V> {
    pub topics: Strings<'a>,
    pub docs: Strings<'a>,
    pub values: &'a [V],
}

impl<'a, V> Columns<'a, V> {
    pub fn new(topics: Strings<'a>, docs: Strings<'a>, values: &'a [V]) -> Result<Self, String> {
        let (t, d, v) = (topics.len(), docs.len(), values.len());
        if t != d || d != v {
            return Err(format!(
                "{t} topics, {d} documents and {v} values, expected equally many"
            ));
        }
        Ok(Self {
            topics,
            docs,
            values,
        })
    }
}

/// Byte strings that come one by one.
pub struct StringBuffers {
    pub offsets: Vec<i64>,
    pub data: Vec<u8>,
}

impl StringBuffers {
    #[inline]
    pub fn push(&mut self, text: &[u8]) {
        self.data.extend_from_slice(text);
        self.offsets.push(self.data.len() as i64);
    }

    pub fn strings(&self) -> Strings<'_> {
        Strings::new(&self.offsets, &self.data).expect("offsets are made to fit")
    }
}

impl Default for StringBuffers {
    fn default() -> Self {
        Self {
            offsets: vec![0],
            data: Vec::new(),
        }
    }
}
