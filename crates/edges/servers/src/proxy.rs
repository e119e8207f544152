//! A proxy on loopback before a server: it passes bytes on, until it is told to cut.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How often the proxy looks whether it is to end.
const LOOK_UP: Duration = Duration::from_millis(20);

/// A proxy.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    target: u16,
    is_cut: AtomicBool,
    is_over: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    /// A proxy before a port of loopback.
    pub fn start(target: u16) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            target,
            is_cut: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            open: Mutex::default(),
        });
        let serving = Arc::clone(&shared);
        thread::Builder::new().name("proxy".to_owned()).spawn(move || serving.serve(&listener))?;
        Ok(Self { port, shared })
    }

    /// Its own port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends all connections, and takes no others.
    pub fn cut(&self) {
        self.shared.is_cut.store(true, Ordering::Release);
        self.shared.end_all();
    }

    /// Takes connections again.
    pub fn heal(&self) {
        self.shared.is_cut.store(false, Ordering::Release);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        self.shared.end_all();
    }
}

impl Shared {
    fn serve(self: Arc<Self>, listener: &TcpListener) {
        while !self.is_over.load(Ordering::Acquire) {
            match listener.accept() {
                // Dropped at once, a connection is refused as far as its client can tell.
                Ok(_) if self.is_cut.load(Ordering::Acquire) => {}
                Ok((client, _)) => {
                    self.pass(client).ok();
                }
                Err(_) => thread::sleep(LOOK_UP),
            }
        }
    }

    /// Passes what comes on, in both directions.
    fn pass(self: &Arc<Self>, client: TcpStream) -> std::io::Result<()> {
        client.set_nonblocking(false)?;
        let server = TcpStream::connect(("127.0.0.1", self.target))?;
        for stream in [&client, &server] {
            stream.set_nodelay(true)?;
        }
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that have ended are of no use.
        open.retain(|it| it.peer_addr().is_ok());
        open.extend([client.try_clone()?, server.try_clone()?]);
        drop(open);
        let (client_again, server_again) = (client.try_clone()?, server.try_clone()?);
        thread::Builder::new().spawn(move || copy(client, server))?;
        thread::Builder::new().spawn(move || copy(server_again, client_again))?;
        Ok(())
    }

    fn end_all(&self) {
        for stream in self.open.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            stream.shutdown(Shutdown::Both).ok();
        }
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = vec![0; 16 << 10];
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..n]).is_err() {
            break;
        }
    }
    to.shutdown(Shutdown::Both).ok();
    from.shutdown(Shutdown::Both).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_ends_connections_and_a_healed_proxy_takes_new_ones() {
        let echo = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = echo.local_addr().unwrap().port();
        thread::spawn(move || {
            for stream in echo.incoming().flatten() {
                thread::spawn(move || copy(stream.try_clone().unwrap(), stream));
            }
        });
        let proxy = Proxy::start(port).unwrap();
        let answer = |stream: &mut TcpStream| {
            let mut byte = [0];
            stream.write_all(b"x").and_then(|()| stream.read_exact(&mut byte)).map(|()| byte[0])
        };
        let connect = || TcpStream::connect(("127.0.0.1", proxy.port())).unwrap();
        let mut stream = connect();
        assert_eq!(answer(&mut stream).unwrap(), b'x');
        proxy.cut();
        assert!(answer(&mut stream).is_err());
        assert!(answer(&mut connect()).is_err());
        proxy.heal();
        assert_eq!(answer(&mut connect()).unwrap(), b'x');
    }
}
