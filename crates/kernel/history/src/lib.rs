//! What was observed: sessions of transactions that read and wrote keys.
//!
//! A [`History`] holds facts only, in columns with dense ids; [`HistoryBuilder`] is the only way in.
//! [`Facts`] derives once what every engine asks: external reads and who may have written what they saw,
//! final writes, writers of a key, and the anomalies that a single transaction shows by itself.

mod builder;
mod cases;
mod datum;
mod dirty;
mod facts;
mod history;
mod ids;
mod lists;
mod local;
mod names;
mod naming;
mod omissions;
mod packed;
mod pieces;
mod predicate;
mod project;
mod record;
mod sources;
mod standing;
mod statements;
mod streamed;
mod streamed_scans;
mod survey;
mod touch;
mod unexplained;
mod writes;

pub use builder::{Defect, HistoryBuilder, Matching, OMISSION_BYTES, Severity, TooManyRows};
pub use datum::{Datum, Name, clipped};
pub use facts::{ExternalRead, Facts, Standing};
pub use history::{Access, History, Op, Outcome, Place, PlaceUnit};
pub use ids::{KeyId, OpId, ScanId, SessionId, TableId, TxnId, ValueId};
pub use lists::RecoveredOrder;
pub use local::{LocalAnomaly, LocalKind};
pub use naming::{KeyNaming, ValueNaming};
pub use pieces::Pieces;
pub use predicate::{Column, Comparison, Predicate};
pub use project::Projection;
pub use sources::{Source, Sources};
pub use statements::{Extent, Locking, PieceKind, Scan, Snapshots, Statement};
pub use streamed::{StreamedBlock, StreamedOp, StreamedPieces, StreamedStatement, StreamedTxn, StreamedValue};
pub use streamed_scans::{Omitted, StreamedRows, StreamedScan, StreamedTables};
