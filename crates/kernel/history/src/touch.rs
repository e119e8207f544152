//! What an operation does, and to which key, in one word.

use crate::{Access, KeyId};

/// What an operation does, and to which key, in one word: every pass over operations reads both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Touch(u32);

impl Touch {
    /// So many bits are the key; the others are what is done to it.
    const KEY_BITS: u32 = 29;
    /// The builder refuses histories with more keys.
    pub(crate) const MAX_KEYS: usize = 1 << Self::KEY_BITS;

    #[inline]
    pub(crate) fn new(access: Access, key: KeyId) -> Self {
        Self((access as u32) << Self::KEY_BITS | (key.raw() & (Self::MAX_KEYS as u32 - 1)))
    }

    #[inline]
    pub(crate) fn key(self) -> KeyId {
        KeyId::from_index((self.0 & (Self::MAX_KEYS as u32 - 1)) as usize)
    }

    #[inline]
    pub(crate) fn access(self) -> Access {
        match self.0 >> Self::KEY_BITS {
            0 => Access::Read,
            1 => Access::Write,
            2 => Access::Append,
            3 => Access::ReadList,
            _ => Access::Omit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_together_comes_apart() {
        let accesses = [Access::Read, Access::Write, Access::Append, Access::ReadList, Access::Omit];
        for key in [0, 1, 77, Touch::MAX_KEYS - 1].map(KeyId::from_index) {
            for access in accesses {
                let touch = Touch::new(access, key);
                assert_eq!((touch.access(), touch.key()), (access, key));
            }
        }
    }
}
