//! Encrypts for the driver of `MySQL`, which trusts whom it wants: what it says in plain on a local socket, a relay says to
//! the server in an encrypted connection, after it has looked at the server's certificate as we do.
//!
//! The protocol begins in plain: a greeting of the server, and a request to encrypt, which the relay makes of the driver's
//! answer. The driver knows nothing of that request, so that messages are numbered one higher on the server's side, until
//! somebody is signed in. From then on each command counts from zero, and bytes pass as they are.

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// The bit of a greeting and of its answer that stands for encryption.
const ENCRYPTION: u8 = 0x08;

/// A request to encrypt is the beginning of the answer to a greeting.
const REQUEST_LEN: usize = 32;

/// Where to, and how.
#[derive(Clone, Debug)]
pub(super) struct Route {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) timeout: Duration,
    pub(super) config: Arc<ClientConfig>,
}

/// Waits for one connection of the driver.
#[derive(Debug)]
pub(super) struct Relay {
    socket: PathBuf,
    /// Why there is no connection to the server.
    failure: Arc<Mutex<Option<io::Error>>>,
    /// Nobody else may enter the folder, which is there until the driver has connected.
    _folder: TempDir,
}

impl Relay {
    pub(super) fn start(route: &Route) -> io::Result<Self> {
        let folder = TempDir::with_prefix("isoscope-")?;
        let socket = folder.path().join("relay");
        let listener = UnixListener::bind(&socket)?;
        let failure = Arc::new(Mutex::new(None));
        let (route, failed) = (route.clone(), Arc::clone(&failure));
        thread::Builder::new().name("relay".to_owned()).spawn(move || {
            let Ok((client, _)) = listener.accept() else { return };
            drop(listener);
            match connect(&route, &client) {
                Ok(Some(line)) => Arc::new(line).pass_on(&client),
                Ok(None) => {}
                // Said before the connection ends, since the driver complains of its end.
                Err(error) => *lock(&failed) = Some(error),
            }
        })?;
        Ok(Self { socket, failure, _folder: folder })
    }

    /// Where the driver connects.
    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Why there is no connection to the server, if that is why the driver has none.
    pub(super) fn failure(&self) -> Option<io::Error> {
        lock(&self.failure).take()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A message of the protocol.
#[derive(Debug)]
struct Message {
    number: u8,
    content: Vec<u8>,
}

impl Message {
    fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut head = [0; 4];
        from.read_exact(&mut head)?;
        let [low, middle, high, number] = head;
        let mut content = vec![0; usize::from(low) | usize::from(middle) << 8 | usize::from(high) << 16];
        from.read_exact(&mut content)?;
        Ok(Self { number, content })
    }

    fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let [low, middle, high, ..] = self.content.len().to_le_bytes();
        let mut bytes = vec![low, middle, high, self.number];
        bytes.extend(&self.content);
        to.write_all(&bytes)?;
        to.flush()
    }

    /// Is it an error of the server?
    fn is_error(&self) -> bool {
        self.content.first() == Some(&0xff)
    }

    /// Is it the end of signing in?
    fn ends_signing_in(&self) -> bool {
        self.is_error() || self.content.first() == Some(&0)
    }

    /// Which of the greeting's bytes says whether the server encrypts: behind the protocol, the version, the number of the
    /// connection, and the first part of the nonce.
    fn greeting_flags(&mut self) -> Option<&mut u8> {
        let version_len = self.content.get(1..)?.iter().position(|it| *it == 0)?;
        self.content.get_mut(1 + version_len + 1 + 4 + 8 + 1 + 1)
    }
}

/// The encrypted connection, and who it is for; none if the server took no connection at all, and has said why.
fn connect(route: &Route, mut client: &UnixStream) -> io::Result<Option<Line>> {
    let mut server = dial(route)?;
    let mut greeting = Message::read(&mut server)?;
    if greeting.is_error() {
        greeting.write(&mut client)?;
        return Ok(None);
    }
    let broken = || io::Error::new(io::ErrorKind::InvalidData, "the greeting of the server is none of MySQL's");
    let flags = greeting.greeting_flags().ok_or_else(broken)?;
    if *flags & ENCRYPTION == 0 {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "the server encrypts nothing"));
    }
    *flags &= !ENCRYPTION;
    greeting.write(&mut client)?;
    let mut answer = Message::read(&mut client)?;
    match answer.content.get_mut(1) {
        Some(flags) => *flags |= ENCRYPTION,
        None => return Err(broken()),
    }
    let request = answer.content.get(..REQUEST_LEN).ok_or_else(broken)?.to_vec();
    Message { number: answer.number, content: request }.write(&mut server)?;
    let name = ServerName::try_from(route.host.clone()).map_err(io::Error::other)?;
    let mut encrypted = ClientConnection::new(Arc::clone(&route.config), name).map_err(io::Error::other)?;
    while encrypted.is_handshaking() {
        encrypted.complete_io(&mut server)?;
    }
    // From here on the driver says when it has waited long enough.
    server.set_read_timeout(None)?;
    server.set_write_timeout(None)?;
    let line = Line { encrypted: Mutex::new(encrypted), server, is_signed_in: AtomicBool::new(false) };
    answer.number = answer.number.wrapping_add(1);
    answer.write(&mut &line)?;
    Ok(Some(line))
}

fn dial(route: &Route) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in (route.host.as_str(), route.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, route.timeout) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(route.timeout))?;
                stream.set_write_timeout(Some(route.timeout))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// An encrypted connection to the server.
#[derive(Debug)]
struct Line {
    encrypted: Mutex<ClientConnection>,
    server: TcpStream,
    is_signed_in: AtomicBool,
}

impl Line {
    /// Passes on what both sides say, until one of them ends.
    fn pass_on(self: Arc<Self>, client: &UnixStream) {
        let (line, hearing) = (Arc::clone(&self), client.try_clone());
        let spoken = thread::Builder::new().name("relay".to_owned()).spawn(move || {
            if let Ok(mut hearing) = hearing {
                // Whoever ends a connection says so by ending it, and there is nobody to tell it to.
                line.to_server(&mut hearing).ok();
            }
            line.end();
        });
        if spoken.is_ok() {
            self.to_client(&mut &*client).ok();
        }
        self.end();
        client.shutdown(Shutdown::Both).ok();
    }

    fn to_client(&self, client: &mut impl Write) -> io::Result<()> {
        loop {
            let mut message = Message::read(&mut &*self)?;
            let is_last = message.ends_signing_in();
            message.number = message.number.wrapping_sub(1);
            // Before the driver hears of it, and counts from zero.
            self.is_signed_in.store(is_last, Ordering::Release);
            message.write(client)?;
            if is_last {
                break;
            }
        }
        io::copy(&mut &*self, client).map(drop)
    }

    fn to_server(&self, client: &mut impl Read) -> io::Result<()> {
        loop {
            let mut message = Message::read(client)?;
            let is_signed_in = self.is_signed_in.load(Ordering::Acquire);
            if !is_signed_in {
                message.number = message.number.wrapping_add(1);
            }
            message.write(&mut &*self)?;
            if is_signed_in {
                break;
            }
        }
        io::copy(client, &mut &*self).map(drop)
    }

    fn send(&self, encrypted: &mut ClientConnection) -> io::Result<()> {
        while encrypted.wants_write() {
            encrypted.write_tls(&mut &self.server)?;
        }
        Ok(())
    }

    fn end(&self) {
        let mut encrypted = lock(&self.encrypted);
        encrypted.send_close_notify();
        self.send(&mut encrypted).ok();
        self.server.shutdown(Shutdown::Both).ok();
    }
}

/// What the server says. Nobody has to wait with his words until it says something.
impl Read for &Line {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut bytes = [0; 16 << 10];
        loop {
            match lock(&self.encrypted).reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return other,
            }
            let n = (&self.server).read(&mut bytes)?;
            if n == 0 {
                return Ok(0);
            }
            let mut encrypted = lock(&self.encrypted);
            let mut rest = &bytes[..n];
            while !rest.is_empty() {
                encrypted.read_tls(&mut rest)?;
                encrypted.process_new_packets().map_err(io::Error::other)?;
            }
            self.send(&mut encrypted)?;
        }
    }
}

/// What is said to the server.
impl Write for &Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut encrypted = lock(&self.encrypted);
        let n = encrypted.writer().write(bytes)?;
        self.send(&mut encrypted)?;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
