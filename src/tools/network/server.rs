//! Owns the servers of the tests: one request a connection, answered byte by byte as a test wants it; and names that are resolved by a list.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// A server on this machine, which stays until the tests end.
pub(super) struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Returns a server that hands each request with its connection to `respond`; the connection closes when that returns.
    pub(super) fn start(mut respond: impl FnMut(&str, &mut TcpStream) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let request = read(&mut stream);
                seen.lock().unwrap().push(request.clone());
                respond(&request, &mut stream);
            }
        });
        Self { address, requests }
    }

    pub(super) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns the requests so far, head and body.
    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// Writes an answer; a client that is gone does not mind.
pub(super) fn answer(stream: &mut TcpStream, status: &str, headers: &str, body: &[u8]) {
    let _ = stream.write_all(format!("HTTP/1.1 {status}\r\n{headers}connection: close\r\n\r\n").as_bytes());
    let _ = stream.write_all(body);
}

fn read(stream: &mut TcpStream) -> String {
    let (mut request, mut chunk) = (String::new(), [0; 4096]);
    loop {
        let count = stream.read(&mut chunk).unwrap_or(0);
        request.push_str(std::str::from_utf8(&chunk[..count]).unwrap());
        let length = request.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
        let length: usize = length.map_or(0, |length| length.parse().unwrap());
        let whole = request.split_once("\r\n\r\n").is_some_and(|(_, body)| body.len() >= length);
        if whole || count == 0 {
            return request;
        }
    }
}

/// Resolves names by a list, and counts how often it was asked.
pub(super) struct Names {
    list: Vec<(&'static str, IpAddr)>,
    asked: AtomicUsize,
}

impl Names {
    pub(super) fn new(list: impl IntoIterator<Item = (&'static str, &'static str)>) -> Self {
        let list = list.into_iter().map(|(name, address)| (name, address.parse().unwrap())).collect();
        Self { list, asked: AtomicUsize::new(0) }
    }

    pub(super) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let found = self.list.iter().filter(|(listed, _)| *listed == name.as_str());
        let found: Vec<SocketAddr> = found.map(|(_, address)| SocketAddr::new(*address, 0)).collect();
        Box::pin(async move { Ok(Box::new(found.into_iter()) as Addrs) })
    }
}
