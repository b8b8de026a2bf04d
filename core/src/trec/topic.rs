//! The rows of one topic, and finding them by document id.

/// A document id with its hash.
#[derive(Clone, Copy, Debug)]
pub struct Doc<'t> {
    pub id: &'t [u8],
    hash: u64,
}

impl<'t> Doc<'t> {
    pub fn new(id: &'t [u8]) -> Self {
        Self { id, hash: hash(id) }
    }
}

impl PartialEq for Doc<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.id == other.id
    }
}

/// Eight bytes at a time, each folded in by a wide multiplication. Equal hashes are always checked
/// against the ids, so the hash decides the speed only.
pub fn hash(id: &[u8]) -> u64 {
    const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
    const FACTOR: u64 = 0xd6e8_feb8_6659_fd93;
    let fold = |state: u64, word: u64| {
        let product = u128::from(state ^ word) * u128::from(FACTOR);
        (product as u64) ^ ((product >> 64) as u64)
    };
    let mut words = id.chunks_exact(8);
    let state = (&mut words)
        .map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")))
        .fold(SEED ^ id.len() as u64, fold);
    fold(state, tail(words.remainder()))
}

/// Up to eight bytes as a number; the two reads of four bytes may overlap.
fn tail(bytes: &[u8]) -> u64 {
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last))
    } else {
        bytes
            .iter()
            .fold(0, |word, &byte| word << 8 | u64::from(byte))
    }
}

/// Whether two names are the same; most have so few bytes that no call is worth while.
#[inline]
pub fn is_same(a: &[u8], b: &[u8]) -> bool {
    if a.len() > 8 || a.len() != b.len() {
        return a == b;
    }
    tail(a) == tail(b)
}

/// An open-addressing table from documents to their rows.
#[derive(Default)]
pub struct Index {
    /// Row + 1 in the bits of the mask, and above them those of the document's hash, so that hardly
    /// any other one has to be compared; 0 where nothing stands. A power of two, at most half full.
    slots: Vec<u64>,
}

impl Index {
    /// Forgets everything and makes room for `rows` documents.
    pub fn clear(&mut self, rows: usize) {
        self.slots.clear();
        self.slots.resize((2 * rows).next_power_of_two(), 0);
    }

    fn mask(&self) -> u64 {
        self.slots.len() as u64 - 1
    }

    /// Remembers the row of `doc`, unless an equal document came before: then returns that one's.
    #[inline]
    pub fn insert<'t>(
        &mut self,
        doc: Doc,
        row: usize,
        doc_of: impl Fn(usize) -> Doc<'t>,
    ) -> Option<usize> {
        let (slot, found) = self.slot(doc, doc_of);
        if found.is_none() {
            self.slots[slot] = (doc.hash & !self.mask()) | (row as u64 + 1);
        }
        found
    }

    pub fn find<'t>(&self, doc: Doc, doc_of: impl Fn(usize) -> Doc<'t>) -> Option<usize> {
        self.slot(doc, doc_of).1
    }

    /// Where `doc` stands or would stand, and its row.
    #[inline]
    fn slot<'t>(&self, doc: Doc, doc_of: impl Fn(usize) -> Doc<'t>) -> (usize, Option<usize>) {
        let mask = self.mask();
        let mut slot = doc.hash & mask;
        loop {
            let stored = self.slots[slot as usize];
            if stored == 0 {
                return (slot as usize, None);
            }
            if (stored ^ doc.hash) & !mask == 0 {
                let row = (stored & mask) as usize - 1;
                if doc_of(row) == doc {
                    return (slot as usize, Some(row));
                }
            }
            slot = (slot + 1) & mask;
        }
    }
}

/// Rows of one topic with copies of their ids: judgments, or the part of a run's topic that waits
/// for the rest.
#[derive(Clone, Debug, Default)]
pub struct Kept<V> {
    ids: Vec<u8>,
    rows: Vec<Row<V>>,
}

#[derive(Clone, Copy, Debug)]
struct Row<V> {
    end: usize,
    at: u64,
    value: V,
}

impl<V: Copy> Kept<V> {
    pub fn push(&mut self, id: &[u8], at: u64, value: V) {
        self.ids.extend_from_slice(id);
        self.rows.push(Row {
            end: self.ids.len(),
            at,
            value,
        });
    }

    /// Adds the rows of a later part that starts `base` lines further on.
    pub fn append(&mut self, part: &Self, base: u64) {
        for (id, at, value) in part.iter() {
            self.push(id, at + base, value);
        }
    }

    /// Id, position and value of every row.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], u64, V)> {
        self.rows.iter().scan(0, |start, row| {
            let id = &self.ids[*start..row.end];
            *start = row.end;
            Some((id, row.at, row.value))
        })
    }
}
