//! Operations as they are planned, and as they happened.

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// An operation that a transaction is going to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) access: Access,
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
    pub(crate) fn read(&mut self, key: u32) {
        self.0.push(Step { access: Access::Read, key });
    }

    pub(crate) fn write(&mut self, key: u32) {
        self.0.push(Step { access: Access::Write, key });
    }

    /// Reads a key, then writes it.
    pub(crate) fn update(&mut self, key: u32) {
        self.read(key);
        self.write(key);
    }
}
