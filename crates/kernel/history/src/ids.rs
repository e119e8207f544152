//! Dense ids: positions in the columns of one history.

use std::fmt;

macro_rules! dense_id {
    ($(#[$doc:meta])* $name:ident, $letter:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// The id at position `index`.
            ///
            /// The builder refuses histories with more than `u32::MAX - 1` entries, so the cast keeps its value.
            #[inline]
            pub fn from_index(index: usize) -> Self {
                debug_assert!(index < u32::MAX as usize);
                Self(index as u32)
            }

            /// The position of this id in its column.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The id as a plain number.
            #[inline]
            pub fn raw(self) -> u32 {
                self.0
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
    /// A session: a client that runs its transactions one after the other.
    SessionId,
    "s"
);
dense_id!(
    /// A transaction; [`TxnId::INITIAL`] wrote the initial value of every key.
    TxnId,
    "t"
);
dense_id!(
    /// An operation; ids of one transaction are consecutive, in program order.
    OpId,
    "op"
);
dense_id!(
    /// A key.
    KeyId,
    "k"
);
dense_id!(
    /// A scan: a read by predicate.
    ScanId,
    "scan"
);
dense_id!(
    /// A table of a recording that is read transaction by transaction.
    TableId,
    "table"
);
dense_id!(
    /// A value, interned over the whole history.
    ValueId,
    "v"
);

impl TxnId {
    /// The transaction that wrote the initial state and precedes every other one.
    pub const INITIAL: Self = Self(0);

    /// Is this the initial transaction?
    #[inline]
    pub fn is_initial(self) -> bool {
        self == Self::INITIAL
    }
}
