//! The columns of a file, some rows at a time.

use bytes::Bytes;
use parquet::basic::{Compression, ConvertedType, LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::RowGroupReader;
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

/// What is wrong with a file.
#[derive(Debug)]
pub(super) struct Damage(pub(super) String);

impl From<ParquetError> for Damage {
    fn from(error: ParquetError) -> Self {
        Self(format!("the file is damaged, or of a kind that is not known: {error}"))
    }
}

/// A column of the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Txn,
    Session,
    Kind,
    Key,
    Value,
    Op,
    Status,
    Begin,
    End,
    Elements,
    Statement,
    Lock,
    Scan,
    Table,
    Predicate,
    Extent,
    Matches,
}

/// What the cells of a column can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Accepts {
    Ints,
    Texts,
    Either,
}

impl Column {
    pub(super) const ALL: [Self; 17] = [
        Self::Txn,
        Self::Session,
        Self::Kind,
        Self::Key,
        Self::Value,
        Self::Op,
        Self::Status,
        Self::Begin,
        Self::End,
        Self::Elements,
        Self::Statement,
        Self::Lock,
        Self::Scan,
        Self::Table,
        Self::Predicate,
        Self::Extent,
        Self::Matches,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Txn => "txn",
            Self::Session => "session",
            Self::Kind => "kind",
            Self::Key => "key",
            Self::Value => "value",
            Self::Op => "op",
            Self::Status => "status",
            Self::Begin => "begin",
            Self::End => "end",
            Self::Elements => "elements",
            Self::Statement => "statement",
            Self::Lock => "lock",
            Self::Scan => "scan",
            Self::Table => "table",
            Self::Predicate => "predicate",
            Self::Extent => "extent",
            Self::Matches => "matches",
        }
    }

    /// Must every file have it?
    fn is_needed(self) -> bool {
        matches!(self, Self::Txn | Self::Session | Self::Kind | Self::Key | Self::Value)
    }

    /// Does it say more than what registers and appends need?
    pub(super) fn is_rare(self) -> bool {
        matches!(
            self,
            Self::Elements
                | Self::Statement
                | Self::Lock
                | Self::Scan
                | Self::Table
                | Self::Predicate
                | Self::Extent
                | Self::Matches
        )
    }

    fn accepts(self) -> Accepts {
        match self {
            Self::Txn | Self::Op | Self::Begin | Self::End | Self::Statement | Self::Scan => Accepts::Ints,
            Self::Session | Self::Key | Self::Value => Accepts::Either,
            _ => Accepts::Texts,
        }
    }
}

/// Which columns a file has, and where.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    places: [Option<usize>; Column::ALL.len()],
}

impl Layout {
    /// Finds the columns, or says which are missing or of a wrong type.
    pub(super) fn of(schema: &SchemaDescriptor) -> Result<Self, Vec<String>> {
        let mut faults = Vec::new();
        let places = Column::ALL.map(|column| {
            let is_it = |it: &parquet::schema::types::ColumnDescPtr| it.path().parts()[0] == column.name();
            let place = schema.columns().iter().position(is_it);
            match place.map(|it| fault(column, &schema.column(it))) {
                Some(Some(fault)) => faults.push(fault),
                None if column.is_needed() => faults.push(missing(column, schema)),
                _ => {}
            }
            place
        });
        if faults.is_empty() { Ok(Self { places }) } else { Err(faults) }
    }

    pub(super) fn has(&self, column: Column) -> bool {
        self.places[column as usize].is_some()
    }
}

fn missing(column: Column, schema: &SchemaDescriptor) -> String {
    let found: Vec<&str> = schema.root_schema().get_fields().iter().map(|it| it.name()).collect();
    format!("there is no column `{}`; the columns are {}", column.name(), found.join(", "))
}

/// What is wrong with the type of a column.
fn fault(column: Column, descriptor: &ColumnDescriptor) -> Option<String> {
    if descriptor.path().parts().len() != 1 || descriptor.max_rep_level() != 0 {
        return Some(format!(
            "the column `{}` is nested or repeated; it must have one cell in each row",
            column.name()
        ));
    }
    let is_decimal = descriptor.converted_type() == ConvertedType::DECIMAL
        || matches!(descriptor.logical_type_ref(), Some(LogicalType::Decimal(_)));
    let found = descriptor.physical_type();
    let fits = match column.accepts() {
        Accepts::Ints => matches!(found, Physical::INT32 | Physical::INT64),
        Accepts::Texts => found == Physical::BYTE_ARRAY,
        Accepts::Either => matches!(found, Physical::INT32 | Physical::INT64 | Physical::BYTE_ARRAY),
    };
    let expected = match column.accepts() {
        Accepts::Ints => "integers",
        Accepts::Texts => "texts",
        Accepts::Either => "integers or texts",
    };
    let shown = if is_decimal { "DECIMAL".to_owned() } else { found.to_string() };
    let message = || format!("the column `{}` is of type {shown}; expected {expected}", column.name());
    (is_decimal || !fits).then(message)
}

/// The cells of a column in some rows.
#[derive(Debug, Default)]
pub(super) struct Cells {
    pub(super) ints: Vec<i64>,
    pub(super) texts: Vec<ByteArray>,
    /// Which cells are there; all, if it is empty.
    present: Vec<bool>,
    n_rows: usize,
    is_absent: bool,
}

impl Cells {
    fn absent(n_rows: usize) -> Self {
        Self { n_rows, is_absent: true, ..Self::default() }
    }

    pub(super) fn has(&self, row: usize) -> bool {
        !self.is_absent && self.present.get(row).is_none_or(|it| *it)
    }

    /// Are all cells integers?
    pub(super) fn all_ints(&self) -> bool {
        !self.is_absent && self.present.is_empty() && self.ints.len() == self.n_rows
    }

    pub(super) fn int(&self, row: usize) -> Option<i64> {
        self.has(row).then(|| self.ints[row])
    }

    /// Is it a column of integers?
    pub(super) fn is_ints(&self) -> bool {
        self.ints.len() == self.n_rows && self.texts.is_empty()
    }

    pub(super) fn bytes(&self, row: usize) -> Option<&[u8]> {
        self.has(row).then(|| self.texts[row].data())
    }

    pub(super) fn text(&self, row: usize) -> Result<Option<&str>, std::str::Utf8Error> {
        self.bytes(row).map(std::str::from_utf8).transpose()
    }
}

/// Some rows of a file, by column.
#[derive(Debug)]
pub(super) struct Chunk {
    cells: Vec<Cells>,
    pub(super) n_rows: usize,
}

impl Chunk {
    pub(super) fn cells(&self, column: Column) -> &Cells {
        &self.cells[column as usize]
    }

    /// What it takes in memory, about.
    pub(super) fn bytes(&self) -> usize {
        let bytes = |it: &Cells| {
            it.ints.len() * size_of::<i64>()
                + it.texts.iter().map(|it| size_of::<ByteArray>() + it.len()).sum::<usize>()
                + it.present.len()
        };
        self.cells.iter().map(bytes).sum()
    }
}

/// The rows of a row group that were not read yet.
pub(super) struct Rows {
    readers: Vec<Option<(ColumnReader, Signs)>>,
    n_left: usize,
}

/// What the numbers of a column mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signs {
    Signed,
    /// 32 bits without a sign.
    Unsigned32,
    /// 64 bits without a sign: half of them are no integers of ours.
    Unsigned64,
}

impl Rows {
    pub(super) fn new(group: &dyn RowGroupReader, layout: &Layout) -> Result<Self, Damage> {
        let open = |place: &Option<usize>| -> Result<_, ParquetError> {
            let Some(place) = *place else { return Ok(None) };
            let descriptor = group.metadata().column(place).column_descr_ptr();
            Ok(Some((group.get_column_reader(place)?, signs(&descriptor))))
        };
        layout
            .places
            .iter()
            .flatten()
            .try_for_each(|it| check_compression(group.metadata().column(*it).compression()))?;
        let readers = layout.places.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let n_rows = group.metadata().num_rows();
        let n_left = usize::try_from(n_rows).map_err(|_| Damage(format!("a row group of {n_rows} rows")))?;
        Ok(Self { readers, n_left })
    }

    /// The next rows, at most so many; none at the end.
    pub(super) fn next(&mut self, at_most: usize) -> Result<Option<Chunk>, Damage> {
        let n_rows = self.n_left.min(at_most);
        if n_rows == 0 {
            return Ok(None);
        }
        self.n_left -= n_rows;
        let mut cells = Vec::with_capacity(self.readers.len());
        for (reader, column) in self.readers.iter_mut().zip(Column::ALL) {
            cells.push(match reader {
                Some((reader, signs)) => read_cells(reader, *signs, n_rows, column)?,
                None => Cells::absent(n_rows),
            });
        }
        Ok(Some(Chunk { cells, n_rows }))
    }
}

/// Others would each take a library more.
fn check_compression(compression: Compression) -> Result<(), Damage> {
    match compression {
        Compression::UNCOMPRESSED | Compression::SNAPPY => Ok(()),
        other => {
            let name = format!("{other:?}");
            let name = name.split('(').next().unwrap_or_default();
            Err(Damage(format!("its columns are compressed with {name}; write it with SNAPPY, or without compression")))
        }
    }
}

fn signs(descriptor: &ColumnDescriptor) -> Signs {
    let is_unsigned = matches!(
        descriptor.converted_type(),
        ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
    ) || matches!(descriptor.logical_type_ref(), Some(LogicalType::Integer(it)) if !it.is_signed);
    match (is_unsigned, descriptor.physical_type()) {
        (true, Physical::INT32) => Signs::Unsigned32,
        (true, _) => Signs::Unsigned64,
        (false, _) => Signs::Signed,
    }
}

fn read_cells(reader: &mut ColumnReader, signs: Signs, n_rows: usize, column: Column) -> Result<Cells, Damage> {
    let mut cells = Cells { n_rows, ..Cells::default() };
    match reader {
        ColumnReader::Int64ColumnReader(reader) => {
            (cells.ints, cells.present) = read_typed(reader, n_rows, column, &0)?;
            if signs == Signs::Unsigned64 && cells.ints.iter().any(|it| *it < 0) {
                return Err(Damage(format!(
                    "a number in the column `{}` does not fit in 64 bits with a sign",
                    column.name()
                )));
            }
        }
        ColumnReader::Int32ColumnReader(reader) => {
            let (ints, present) = read_typed(reader, n_rows, column, &0)?;
            let wide = |it: i32| if signs == Signs::Unsigned32 { i64::from(it.cast_unsigned()) } else { it.into() };
            (cells.ints, cells.present) = (ints.into_iter().map(wide).collect(), present);
        }
        ColumnReader::ByteArrayColumnReader(reader) => {
            // A text that was never set panics when it is looked at.
            let none = ByteArray::from(Vec::new());
            (cells.texts, cells.present) = read_typed(reader, n_rows, column, &none)?;
        }
        _ => return Err(Damage(format!("the column `{}` changes its type", column.name()))),
    }
    Ok(cells)
}

/// Reads cells, and puts another value where there are none. Which are there is empty if all are.
fn read_typed<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    n_rows: usize,
    column: Column,
    none: &T::T,
) -> Result<(Vec<T::T>, Vec<bool>), Damage> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let (n_read, n_values, _) = reader.read_records(n_rows, Some(&mut levels), None, &mut values)?;
    // A column without nulls has no levels.
    let n_there = if levels.is_empty() { n_read } else { levels.iter().filter(|it| **it > 0).count() };
    if n_read != n_rows || n_values != values.len() || n_there != n_values {
        let what = format!("the column `{}` ends before its rows do: {n_read} of {n_rows}", column.name());
        return Err(Damage(format!("the file is damaged: {what}")));
    }
    if n_values == n_rows {
        return Ok((values, Vec::new()));
    }
    let present: Vec<bool> = levels.iter().map(|it| *it > 0).collect();
    let mut found = values.into_iter().peekable();
    let cells = present.iter().map(|it| found.next_if(|_| *it).unwrap_or_else(|| none.clone())).collect();
    Ok((cells, present))
}

/// A stream that was read as a whole, as files are.
pub(super) fn whole(bytes: Vec<u8>) -> Bytes {
    Bytes::from(bytes)
}
