//! Transactions that a driver takes in one request.

use super::DriverClient;
use super::protocol::{Operation, value_of};
use crate::Failure;
use crate::whole::{WholeAnswer, WholeOp, WholeTxns};

impl WholeTxns for DriverClient {
    fn run_whole(&mut self, ops: &[WholeOp]) -> Result<Vec<WholeAnswer>, Failure> {
        // A scan of a driver that has none is a read of each row that may be there.
        let mut operations: Vec<Operation> = Vec::new();
        let mut spans: Vec<(usize, Option<Vec<String>>)> = Vec::new();
        for op in ops {
            let from = operations.len();
            let mut rows_read = None;
            match op {
                WholeOp::Get { table, row } => {
                    let run = self.run();
                    operations.push(Operation::Get { table: run.table(table), key: run.key(table, row) });
                }
                WholeOp::Put { table, row, value } => {
                    let (table, key) = self.written(table, row);
                    operations.push(Operation::Put { table, key, value: value.clone() });
                }
                WholeOp::Delete { table, row } => {
                    let (table, key) = self.written(table, row);
                    operations.push(Operation::Delete { table, key });
                }
                WholeOp::Append { table, row, element } => {
                    let (table, key) = self.written(table, row);
                    operations.push(Operation::Append { table, key, element: *element });
                }
                WholeOp::Scan { table, prefix } => {
                    let rows = self.known(table, prefix);
                    let run = self.run();
                    operations.extend(
                        rows.iter().map(|row| Operation::Get { table: run.table(table), key: run.key(table, row) }),
                    );
                    rows_read = Some(rows);
                }
            }
            spans.push((from, rows_read));
        }
        let answers = self.ask_whole(&operations)?;
        let mut understood = Vec::new();
        for (op, (from, rows_read)) in ops.iter().zip(spans) {
            understood.push(match (op, rows_read) {
                (WholeOp::Get { .. }, _) => WholeAnswer::Value(self.understood("txn", value_of(&answers[from]))?),
                (_, Some(rows)) => {
                    let mut found = Vec::new();
                    for (row, answer) in rows.into_iter().zip(&answers[from..]) {
                        found.extend(self.understood("txn", value_of(answer))?.map(|value| (row, value)));
                    }
                    WholeAnswer::Rows(found)
                }
                _ => WholeAnswer::Done,
            });
        }
        Ok(understood)
    }
}
