//! A table with rows of different lengths, in one piece of memory.

/// Rows of entries, numbered from 0.
#[derive(Debug)]
pub(super) struct Rows<T> {
    starts: Vec<u32>,
    all: Vec<T>,
}

impl<T> Rows<T> {
    pub(super) fn new() -> Self {
        Self { starts: vec![0], all: Vec::new() }
    }

    /// Adds an entry to the row that comes next.
    pub(super) fn push(&mut self, entry: T) {
        self.all.push(entry);
    }

    /// The entries of the row that comes next; they may be put in order, and some thrown away, before it ends.
    pub(super) fn open(&mut self) -> (&mut Vec<T>, usize) {
        let start = self.starts.last().map_or(0, |it| *it as usize);
        (&mut self.all, start)
    }

    pub(super) fn end_row(&mut self) {
        self.starts.push(self.all.len() as u32);
    }

    pub(super) fn of(&self, row: u32) -> &[T] {
        &self.all[self.starts[row as usize] as usize..self.starts[row as usize + 1] as usize]
    }
}

impl<T: Copy + Ord> Rows<T> {
    /// As many rows as given, each with its entries in the order of `entries`, which is asked twice.
    pub(super) fn grouped<I: Iterator<Item = (usize, T)>>(n_rows: usize, entries: impl Fn() -> I) -> Self {
        let mut starts = vec![0u32; n_rows + 2];
        for (row, _) in entries() {
            starts[row + 2] += 1;
        }
        for row in 2..starts.len() {
            starts[row] += starts[row - 1];
        }
        let some_entry = entries().next().map(|it| it.1);
        let mut all: Vec<T> = some_entry.into_iter().cycle().take(starts[n_rows + 1] as usize).collect();
        for (row, entry) in entries() {
            let slot = &mut starts[row + 1];
            all[*slot as usize] = entry;
            *slot += 1;
        }
        Self { starts, all }
    }

    /// Sorts the entries of each row.
    pub(super) fn sorted(mut self) -> Self {
        for row in self.starts.windows(2) {
            self.all[row[0] as usize..row[1].max(row[0]) as usize].sort_unstable();
        }
        self
    }
}
