//! Opens compressed input by its magic bytes, and compresses output by its file name.

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, BufReader, Cursor, Read, Write};

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A reader of plain bytes.
pub(crate) struct Opened<'a> {
    pub(crate) reader: Box<dyn Read + 'a>,
    pub(crate) is_compressed: bool,
}

/// Looks at the first bytes and puts a decompressor in front if they ask for one.
pub(crate) fn open<'a>(mut raw: impl Read + 'a) -> io::Result<Opened<'a>> {
    let mut magic = Vec::new();
    raw.by_ref().take(ZSTD.len() as u64).read_to_end(&mut magic)?;
    let is_gzip = magic.starts_with(&GZIP);
    let is_zstd = magic.starts_with(&ZSTD);
    let whole = Cursor::new(magic).chain(raw);
    let reader: Box<dyn Read + 'a> = match (is_gzip, is_zstd) {
        (true, _) => Box::new(MultiGzDecoder::new(whole)),
        (_, true) => Box::new(ZstdReader::new(whole)),
        _ => Box::new(whole),
    };
    Ok(Opened { reader, is_compressed: is_gzip || is_zstd })
}

/// How to compress what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Plain,
    Gzip,
    Zstd,
}

impl Compression {
    /// Decided by how the file's name ends.
    pub(crate) fn from_extension(extension: &str) -> Self {
        match extension {
            "gz" => Self::Gzip,
            "zst" => Self::Zstd,
            _ => Self::Plain,
        }
    }

    /// Runs `fill` on a writer whose bytes reach `out` compressed.
    pub(crate) fn wrap<E: From<io::Error>>(
        self,
        out: &mut dyn Write,
        fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Self::Plain => fill(out)?,
            Self::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(out, flate2::Compression::default());
                fill(&mut encoder)?;
                encoder.finish()?;
            }
            Self::Zstd => {
                let mut plain = Vec::new();
                fill(&mut plain)?;
                let level = ruzstd::encoding::CompressionLevel::Fastest;
                out.write_all(&ruzstd::encoding::compress_to_vec(plain.as_slice(), level))?;
            }
        }
        Ok(())
    }
}

/// Reads all frames of a Zstandard stream; the decoder below knows one.
struct ZstdReader<R: Read> {
    source: BufReader<R>,
    decoder: FrameDecoder,
    state: ZstdState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ZstdState {
    BetweenFrames,
    InFrame,
    Ended,
}

impl<R: Read> Read for ZstdReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let result = self.read_on(buffer);
        if result.is_err() {
            self.state = ZstdState::Ended;
        }
        result
    }
}

impl<R: Read> ZstdReader<R> {
    fn new(source: R) -> Self {
        Self { source: BufReader::new(source), decoder: FrameDecoder::new(), state: ZstdState::BetweenFrames }
    }

    fn read_on(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.state != ZstdState::Ended {
            if self.state == ZstdState::BetweenFrames {
                self.next_frame()?;
                continue;
            }
            let n = self.decode(buffer)?;
            if n > 0 || buffer.is_empty() {
                return Ok(n);
            }
            self.check_sum()?;
            self.state = ZstdState::BetweenFrames;
        }
        Ok(0)
    }

    fn next_frame(&mut self) -> io::Result<()> {
        if self.source.fill_buf()?.is_empty() {
            self.state = ZstdState::Ended;
            return Ok(());
        }
        match self.decoder.reset(&mut self.source) {
            Ok(()) => self.state = ZstdState::InFrame,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                let length = u64::from(length);
                if io::copy(&mut self.source.by_ref().take(length), &mut io::sink())? < length {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            Err(error) => return Err(self.failure(error)),
        }
        Ok(())
    }

    fn decode(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.decoder.can_collect() < buffer.len() && !self.decoder.is_finished() {
            let missing = buffer.len() - self.decoder.can_collect();
            let decoded = self.decoder.decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBytes(missing));
            decoded.map_err(|error| self.failure(error))?;
        }
        self.decoder.read(buffer)
    }

    /// What is wrong, for people: a decoder that ran out of bytes speaks of its inner parts.
    fn failure(&mut self, error: FrameDecoderError) -> io::Error {
        match self.source.fill_buf() {
            Ok([]) => io::Error::new(io::ErrorKind::UnexpectedEof, "unexpected end of file"),
            Ok(_) => io::Error::other(error),
            Err(error) => error,
        }
    }

    fn check_sum(&self) -> io::Result<()> {
        let said = self.decoder.get_checksum_from_data();
        if said.is_some() && said != self.decoder.get_calculated_checksum() {
            Err(io::Error::new(io::ErrorKind::InvalidData, "the checksum of a frame is wrong"))
        } else {
            Ok(())
        }
    }
}
