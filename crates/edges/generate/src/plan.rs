//! Operations as they are planned, and as they happened.

/// The value of a row that does not exist.
pub(crate) const NO_ROW: u64 = u64::MAX;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
    /// What an update read: it is one statement with the write that follows.
    Old,
    /// A scan from this row on; what it asks for is its value, and the rows that it looked at follow.
    Scan,
    /// A row that a scan returned.
    Returned,
    /// A row that a scan looked at and did not return, with what it saw.
    Omitted,
}

/// What a transaction is going to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Read,
    Write,
    /// Reads and writes in one statement.
    Update,
    /// Deletes a row, or makes it where there is none.
    Toggle,
    /// Reads so many rows from this one on: all, or those with an even value.
    Scan(u32, Asked),
}

/// Which rows of its range a scan asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    All,
    Even,
}

impl Asked {
    pub(crate) fn is_match(self, value: u64) -> bool {
        value != NO_ROW && (self == Self::All || value.is_multiple_of(2))
    }
}

/// A step that a transaction is going to take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) action: Action,
    pub(crate) key: u32,
}

/// An operation that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Op {
    pub(crate) access: Access,
    pub(crate) key: u32,
    pub(crate) value: u64,
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Committed,
    Aborted,
}

/// A transaction that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Txn<'a> {
    pub(crate) session: u32,
    pub(crate) ops: &'a [Op],
    pub(crate) outcome: Outcome,
    pub(crate) begin: u64,
    pub(crate) end: u64,
}

/// The operations that a transaction is going to do, in order.
#[derive(Debug, Default)]
pub(crate) struct Plan(pub(crate) Vec<Step>);

impl Plan {
    pub(crate) fn act(&mut self, action: Action, key: u32) {
        self.0.push(Step { action, key });
    }

    pub(crate) fn read(&mut self, key: u32) {
        self.act(Action::Read, key);
    }

    pub(crate) fn write(&mut self, key: u32) {
        self.act(Action::Write, key);
    }

    /// Reads a key, then writes it.
    pub(crate) fn update(&mut self, key: u32) {
        self.read(key);
        self.write(key);
    }
}
