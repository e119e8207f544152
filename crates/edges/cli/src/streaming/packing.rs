//! A thread that reads a recording and hands it over in packs, while another one checks what is in them.

use super::Flow;
use iso_formats::{
    Pace, RawTxn, ReadError, ReadOptions, StreamedEnd, StreamedHeader, StreamedNames, TakeTxns, Watch, stream_told,
    stream_txns,
};
use iso_history::{Datum, KeyId, Name, Outcome, StreamedBlock, StreamedValue, TableId};
use iso_report::Counts;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

/// So many transactions, or operations, are handed over at once.
const TXNS_PER_PACK: usize = 256;
const OPS_PER_PACK: usize = 1 << 12;
/// So many packs may wait.
pub(super) const MAX_PACKS: usize = 8;

/// What was read.
pub(super) enum Pack {
    Header(Box<StreamedHeader>),
    Initial {
        key: KeyId,
        name: Datum,
        value: StreamedValue,
    },
    /// Transactions, what the recording has up to the last of them, and which keys turn out to be lists, or rows.
    Txns {
        block: Arc<StreamedBlock>,
        counts: Counts,
        lists: Vec<(KeyId, Datum)>,
        rows: Vec<(KeyId, TableId, Datum)>,
    },
    /// It has something that cannot be streamed.
    OutOfReach(String),
}

/// Reads a recording to its end, or until nobody wants more.
pub(super) fn read(
    name: &str,
    flow: Flow,
    initial: Option<&Datum>,
    watch: &dyn Watch,
    sender: SyncSender<Pack>,
) -> Result<StreamedEnd, ReadError> {
    let initial = initial.map(Datum::as_name);
    let options = ReadOptions { initial, watch: Some(watch), ..ReadOptions::default() };
    let (block, counts) = (StreamedBlock::default(), Counts::default());
    let mut packer = Packer { sender, block, counts, lists: Vec::new(), rows: Vec::new() };
    let mut names = StreamedNames::default();
    let ended = match flow {
        Flow::Whole { reader, size, .. } => {
            stream_txns(name, reader, (size, Pace::Blocks), &options, &mut names, &mut packer)
        }
        Flow::Growing(tail) => stream_txns(name, tail, (None, Pace::Lines), &options, &mut names, &mut packer),
        Flow::Told(mut told) => stream_told(name, &mut told, &options, &mut names, &mut packer),
    };
    packer.flush().is_break();
    ended
}

struct Packer {
    sender: SyncSender<Pack>,
    block: StreamedBlock,
    counts: Counts,
    lists: Vec<(KeyId, Datum)>,
    rows: Vec<(KeyId, TableId, Datum)>,
}

impl TakeTxns for Packer {
    fn header(&mut self, header: &StreamedHeader) -> ControlFlow<()> {
        self.send(Pack::Header(Box::new(header.clone())))
    }

    fn list(&mut self, key: KeyId, name: Name<'_>) -> ControlFlow<()> {
        self.lists.push((key, name.to_datum()));
        ControlFlow::Continue(())
    }

    fn initial(&mut self, key: KeyId, name: Name<'_>, value: Name<'_>) -> ControlFlow<()> {
        self.flush()?;
        self.send(Pack::Initial { key, name: name.to_datum(), value: value.into() })
    }

    fn row(&mut self, row: KeyId, table: TableId, name: Name<'_>) -> ControlFlow<()> {
        self.rows.push((row, table, name.to_datum()));
        ControlFlow::Continue(())
    }

    fn txn(&mut self, raw: &RawTxn<'_>) -> ControlFlow<()> {
        if let Err(why) = raw.put_into(&mut self.block) {
            self.flush()?;
            return self.send(Pack::OutOfReach(why));
        }
        let largest = raw.ops.iter().map(|it| it.key.index() as u64 + 1).max();
        self.counts.keys = self.counts.keys.max(largest.unwrap_or(0));
        self.count(raw);
        if self.block.n_txns() < TXNS_PER_PACK && self.block.n_ops() < OPS_PER_PACK {
            return ControlFlow::Continue(());
        }
        self.flush()
    }

    fn pause(&mut self) -> ControlFlow<()> {
        self.flush()
    }
}

impl Packer {
    /// Nobody takes it: then nobody wants more.
    fn send(&self, pack: Pack) -> ControlFlow<()> {
        if self.sender.send(pack).is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    fn flush(&mut self) -> ControlFlow<()> {
        if self.block.n_txns() == 0 {
            return ControlFlow::Continue(());
        }
        let block = Arc::new(std::mem::take(&mut self.block));
        let (lists, rows) = (std::mem::take(&mut self.lists), std::mem::take(&mut self.rows));
        self.send(Pack::Txns { block, counts: self.counts, lists, rows })
    }

    fn count(&mut self, raw: &RawTxn<'_>) {
        let counts = &mut self.counts;
        counts.sessions = counts.sessions.max(raw.session.index() as u64 + 1);
        counts.transactions += 1;
        counts.operations += raw.ops.len() as u64;
        match raw.outcome {
            Outcome::Committed => counts.committed += 1,
            Outcome::Aborted => counts.aborted += 1,
            Outcome::Indeterminate => counts.unknown += 1,
        }
    }
}
