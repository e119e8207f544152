//! A transaction of a recording as it was read, with numbers for its keys, and how it becomes a part of a block.

use iso_history::{
    Access, Extent, KeyId, Name, Outcome, Predicate, SessionId, StreamedBlock, StreamedStatement, StreamedTables,
    StreamedValue, TableId,
};
use std::ops::Range;
use std::sync::Arc;

/// One transaction, with numbers for its keys.
#[derive(Clone, Debug)]
pub struct RawTxn<'t> {
    /// Its session.
    pub session: SessionId,
    /// The session's name.
    pub session_name: &'t str,
    /// Its place in its session, from 0.
    pub nth: u32,
    /// Its line.
    pub at: u64,
    /// When it began, if the line says so.
    pub begin: Option<i64>,
    /// When it ended, if the line says so.
    pub end: Option<i64>,
    /// What became of it.
    pub outcome: Outcome,
    /// Its operations.
    pub ops: &'t [RawOp<'t>],
    /// Its scans, in the order of the operations.
    pub scans: &'t [RawScan],
    /// The tables that were scanned so far.
    pub tables: &'t StreamedTables,
    /// Why nobody can follow it without the whole recording, if that is so.
    pub out_of_reach: Option<&'t str>,
}

/// A scan.
#[derive(Clone, Debug)]
pub struct RawScan {
    /// The table.
    pub table: TableId,
    /// Which rows it asks for.
    pub predicate: Arc<Predicate>,
    /// How much of it is here.
    pub extent: Extent,
    /// Its rows: those that it returned are read, and others that it did not return are omitted.
    pub ops: Range<usize>,
    /// Its statement, and what it sees of rows that it does not return.
    pub statement: StreamedStatement,
}

impl RawTxn<'_> {
    /// Adds the transaction to a block. If nobody can follow it, that is why.
    pub fn put_into(&self, block: &mut StreamedBlock) -> Result<(), String> {
        if let Some(why) = self.out_of_reach {
            return Err(format!("line {} {why}", self.at));
        }
        block.begin((self.session, self.nth), self.at, self.outcome, (self.begin, self.end));
        let mut next = 0;
        for scan in self.scans {
            self.ops[next..scan.ops.start].iter().for_each(|it| it.put_into(block));
            block.in_statement(scan.statement);
            self.put_scan(scan, block);
            next = scan.ops.end;
        }
        self.ops[next..].iter().for_each(|it| it.put_into(block));
        block.end();
        Ok(())
    }

    fn put_scan(&self, scan: &RawScan, block: &mut StreamedBlock) {
        let (ops, table) = (&self.ops[scan.ops.clone()], scan.table);
        let returned = ops.iter().filter(|it| it.access == Access::Read);
        let returned = returned.map(|it| ((it.key, StreamedValue::from(it.value)), it.statement));
        if scan.extent == Extent::Whole {
            return block.push_scan((table, Arc::clone(&scan.predicate)), returned, self.tables);
        }
        for (row, statement) in returned {
            if let Some(statement) = statement {
                block.in_statement(statement);
            }
            block.push_returned((table, &scan.predicate), row, self.tables);
        }
        block.in_statement(scan.statement);
        for op in ops.iter().filter(|it| it.access == Access::Omit) {
            block.push_omission((table, Arc::clone(&scan.predicate)), op.key, self.tables);
        }
    }
}

impl RawOp<'_> {
    fn put_into(&self, block: &mut StreamedBlock) {
        self.statement.into_iter().for_each(|it| block.in_statement(it));
        match self.access {
            Access::ReadList => block.push_list(self.key, self.elements.iter().map(|it| StreamedValue::from(*it))),
            access => block.push(access, self.key, self.value.into()).expect("omissions are parts of scans"),
        }
    }
}

/// One operation.
#[derive(Clone, Copy, Debug)]
pub struct RawOp<'t> {
    /// What it does.
    pub access: Access,
    /// Its key.
    pub key: KeyId,
    /// The key's name.
    pub name: Name<'t>,
    /// What it read or wrote.
    pub value: Name<'t>,
    /// What it read in a list.
    pub elements: &'t [Name<'t>],
    /// Its statement, if it may be one with others, or see the newest version.
    pub statement: Option<StreamedStatement>,
}
