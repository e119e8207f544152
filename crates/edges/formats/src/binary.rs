//! What the readers of binary formats share: numbers at byte offsets.

use crate::ReadError;
use crate::input::Input;
use crate::sink::Sink;

/// Why a binary reader stopped.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The data is not as it should be; nothing after it can be trusted.
    Defect { at: u64, message: String },
    /// Reading ends.
    Halt(ReadError),
}

impl From<ReadError> for Broken {
    fn from(error: ReadError) -> Self {
        Self::Halt(error)
    }
}

pub(crate) fn broken<T>(at: u64, message: impl Into<String>) -> Result<T, Broken> {
    Err(Broken::Defect { at, message: message.into() })
}

/// Notes a defect, unless reading ends.
pub(crate) fn report(sink: &mut Sink<'_>, result: Result<(), Broken>) -> Result<(), ReadError> {
    match result {
        Ok(()) => Ok(()),
        Err(Broken::Halt(error)) => Err(error),
        Err(Broken::Defect { at, message }) => {
            sink.error(at, message);
            Ok(())
        }
    }
}

/// The next bytes, which must be there.
pub(crate) fn take<const N: usize>(input: &mut Input<'_>, what: &str) -> Result<[u8; N], Broken> {
    let at = input.offset();
    match input.array()? {
        Some(bytes) => Ok(bytes),
        None => broken(at, format!("the file ends inside {what}; it was cut short")),
    }
}

pub(crate) fn little_endian(input: &mut Input<'_>, what: &str) -> Result<i64, Broken> {
    take(input, what).map(i64::from_le_bytes)
}

pub(crate) fn big_endian(input: &mut Input<'_>, what: &str) -> Result<i64, Broken> {
    take(input, what).map(i64::from_be_bytes)
}
