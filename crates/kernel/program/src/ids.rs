//! Dense ids: positions in the lists of one program or of one of its instances.

use std::fmt;

macro_rules! dense_id {
    ($(#[$doc:meta])* $name:ident, $letter:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// The id at position `index`; programs are far smaller than an id can count.
            pub fn from_index(index: usize) -> Self {
                debug_assert!(index < u32::MAX as usize);
                Self(index as u32)
            }

            /// The position of this id in its list.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($letter, "{}"), self.0)
            }
        }
    };
}

dense_id!(
    /// A finite type: [`DomainId::TEXT`], or an enum of the program.
    DomainId,
    "d"
);
dense_id!(
    /// A table.
    TableId,
    "table"
);
dense_id!(
    /// A unit of reading, writing and conflict: a `var` or a row of a table.
    UnitId,
    "u"
);
dense_id!(
    /// A value that the program leaves open: of the initial state or of an argument.
    SymbolId,
    "sym"
);
dense_id!(
    /// A transaction of `run`.
    InstanceId,
    "i"
);
dense_id!(
    /// A place in an instance that reads a unit; later places have greater ids.
    ReadId,
    "r"
);
dense_id!(
    /// A statement of an instance, as a database executes it; later ones have greater ids.
    StatementId,
    "st"
);
dense_id!(
    /// A name bound once in an instance.
    LocalId,
    "l"
);

impl DomainId {
    /// The type `text`: the empty text, and every text that the program writes out.
    pub const TEXT: Self = Self(0);
}
