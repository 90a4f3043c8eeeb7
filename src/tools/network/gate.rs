//! Owns the one way out of the network tools: a request goes, is redirected, is tried again, and an answer comes back, all in a given time.
//!
//! Every hop is checked and connects itself: there are no proxies (a proxy would resolve names where nobody can check them), no cookies,
//! and no connections that are used twice (on one that has gone stale, a request that was lost looks like one that was done).

use std::error::Error as StdError;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::dns::Resolve;
use reqwest::header::HeaderMap;
use reqwest::{Client, StatusCode, Url, redirect};
use tokio::time::{sleep, timeout};

use super::address::{Refusal, refusal_of_host};
use super::body::Body;
use super::fault::Fault;
use super::outgoing::{Outgoing, location, shown};
use super::resolver::{Checked, System};
use crate::config::{HostPattern, Network};

/// Tries after the first.
const RETRIES: u32 = 3;

/// The wait before the second try; it doubles with each further one.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// How often a request may be redirected.
const REDIRECTS: u32 = 10;

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// An answer.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Body,
}

/// What one exchange came to.
enum Exchanged {
    Reply(Reply),
    Redirect(StatusCode, Url),
    /// A network error, which another try may not meet; `unsent` says that the server cannot have seen the request.
    Lost {
        error: Fault,
        unsent: bool,
    },
}

/// The way out, for whom it is open.
pub(in crate::tools) struct Gate {
    allowed: Vec<HostPattern>,
    resolver: Arc<dyn Resolve>,
    client: OnceLock<Client>,
}

impl Gate {
    /// Returns the way out to whom `network` allows.
    pub(in crate::tools) fn new(network: &Network) -> Self {
        Self::with_resolver(network, Arc::new(System))
    }

    /// Returns the same with names resolved by `resolver`.
    pub(super) fn with_resolver(network: &Network, resolver: Arc<dyn Resolve>) -> Self {
        let resolver = Arc::new(Checked(resolver));
        Self { allowed: network.allow_hosts.clone(), resolver, client: OnceLock::new() }
    }

    /// Sends a request and returns the answer at the end of its redirects, whatever its status.
    pub(super) async fn send(&self, request: Outgoing, limit: Duration) -> Result<Reply, Fault> {
        timeout(limit, self.converse(request)).await.unwrap_or(Err(Fault::TimedOut(limit)))
    }

    async fn converse(&self, mut request: Outgoing) -> Result<Reply, Fault> {
        let (mut retries, mut redirects) = (0, 0);
        loop {
            self.check(&request.url)?;
            match self.exchange(&request).await? {
                Exchanged::Reply(reply) => return Ok(reply),
                Exchanged::Redirect(..) if redirects == REDIRECTS => {
                    return Err(Fault::Redirects(shown(&request.url), redirects));
                }
                Exchanged::Redirect(status, to) => {
                    redirects += 1;
                    request.redirect(status, to);
                }
                Exchanged::Lost { unsent, .. }
                    if retries < RETRIES && (unsent || request.is_repeatable()) =>
                {
                    sleep(FIRST_WAIT * 2_u32.pow(retries)).await;
                    retries += 1;
                }
                Exchanged::Lost { error, .. } => return Err(error),
            }
        }
    }

    /// Returns whether a hop may be made, as far as its URL shows; the resolver sees to the rest.
    fn check(&self, url: &Url) -> Result<(), Fault> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Fault::Scheme(url.scheme().to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Fault::Credentials);
        }
        let host = url.host_str().unwrap_or_default();
        let listed = self.allowed.is_empty() || self.allowed.iter().any(|pattern| pattern.covers(url));
        match refusal_of_host(host).or((!listed).then_some(Refusal::NotListed)) {
            Some(refusal) => Err(Fault::Refused { host: host.to_owned(), refusal }),
            None => Ok(()),
        }
    }

    async fn exchange(&self, request: &Outgoing) -> Result<Exchanged, Fault> {
        let mut outgoing = self.client()?.request(request.method.clone(), request.url.clone());
        outgoing = outgoing.headers(request.headers.clone());
        if let Some(body) = &request.body {
            outgoing = outgoing.body(body.clone());
        }
        let url = || shown(&request.url);
        let mut response = match outgoing.send().await {
            Ok(response) => response,
            Err(error) => {
                let (cause, refusal) = innermost(&error);
                if let Some(refusal) = refusal {
                    let host = request.url.host_str().unwrap_or_default().to_owned();
                    return Err(Fault::Refused { host, refusal });
                }
                let unreachable = Fault::Unreachable { url: url(), cause };
                if error.is_builder() {
                    return Err(unreachable);
                }
                return Ok(Exchanged::Lost { error: unreachable, unsent: error.is_connect() });
            }
        };
        let status = response.status();
        if let Some(to) = location(status, response.headers()) {
            let to = std::str::from_utf8(to.as_bytes()).ok().and_then(|to| request.url.join(to).ok());
            return Ok(Exchanged::Redirect(status, to.ok_or_else(|| Fault::Location(url()))?));
        }
        match Body::read(&mut response).await {
            Ok(body) => {
                let headers = std::mem::take(response.headers_mut());
                Ok(Exchanged::Reply(Reply { status, headers, body }))
            }
            Err(error) => {
                let cause = innermost(&error).0;
                Ok(Exchanged::Lost { error: Fault::BrokeOff { url: url(), cause }, unsent: false })
            }
        }
    }

    /// Returns the client, built at the first request: reading the certificates of the system takes time.
    fn client(&self) -> Result<&Client, Fault> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = Client::builder()
            .user_agent(concat!("tepa/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .pool_max_idle_per_host(0)
            .no_proxy()
            .dns_resolver(Arc::clone(&self.resolver))
            .build()
            .map_err(|error| Fault::Client(innermost(&error).0))?;
        Ok(self.client.get_or_init(|| client))
    }
}

/// Returns the innermost cause, since the layers above it only say that something below them failed, and the refusal if it is one.
fn innermost(error: &reqwest::Error) -> (String, Option<Refusal>) {
    let mut cause: &dyn StdError = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let said =
        if cause.is::<reqwest::Error>() { "the connection was lost".to_owned() } else { cause.to_string() };
    (said, cause.downcast_ref().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::network::server::{Names, Server, answer};
    use reqwest::Method;
    use reqwest::header::HeaderValue;
    use std::io::Write as _;
    use std::net::TcpListener;

    const LONG: Duration = Duration::from_secs(600);

    fn network(allowed: &[&str]) -> Network {
        Network { allow_hosts: allowed.iter().map(|text| HostPattern::parse(text).unwrap()).collect() }
    }

    fn request(method: Method, url: &str) -> Outgoing {
        let headers = [
            (reqwest::header::AUTHORIZATION, HeaderValue::from_static("Bearer key")),
            (reqwest::header::ACCEPT, HeaderValue::from_static("text/plain")),
        ];
        let body = (method == Method::POST).then(|| "said".to_owned());
        Outgoing { method, url: Url::parse(url).unwrap(), headers: HeaderMap::from_iter(headers), body }
    }

    /// Returns status and body, or the error.
    async fn send(gate: &Gate, request: Outgoing) -> Result<(u16, String), String> {
        let reply = gate.send(request, LONG).await.map_err(|error| error.to_string())?;
        Ok((reply.status.as_u16(), reply.body.shown(&reply.headers)))
    }

    async fn get(gate: &Gate, url: &str) -> Result<(u16, String), String> {
        send(gate, request(Method::GET, url)).await
    }

    fn open() -> Gate {
        Gate::new(&network(&[]))
    }

    #[tokio::test]
    async fn a_lost_connection_is_tried_three_times_more() {
        for (lost, expected) in [(3, true), (4, false)] {
            let mut left = lost;
            let server = Server::start(move |_, stream| {
                if left == 0 {
                    answer(stream, "200 OK", "", b"here");
                }
                left -= i32::from(left > 0);
            });
            let found = get(&open(), &server.url("/?key=1")).await;
            assert_eq!(found.is_ok(), expected, "{found:?}");
            assert_eq!(server.requests().len(), 4);
            if let Err(error) = found {
                let url = server.url("/");
                assert!(error.starts_with(&format!("cannot reach `{url}`: ")), "{error}");
            }
        }
    }

    #[tokio::test]
    async fn an_answer_that_breaks_off_is_tried_again() {
        let mut first = true;
        let server = Server::start(move |_, stream| {
            let length = if first { "content-length: 10\r\n" } else { "" };
            first = false;
            answer(stream, "200 OK", length, b"here");
        });
        assert_eq!(get(&open(), &server.url("/")).await, Ok((200, "here".to_owned())));
        assert_eq!(server.requests().len(), 2);
    }

    #[tokio::test]
    async fn a_post_that_may_have_arrived_is_not_repeated() {
        let server = Server::start(|_, _| ());
        send(&open(), request(Method::POST, &server.url("/"))).await.unwrap_err();
        assert_eq!(server.requests().len(), 1);
    }

    #[tokio::test]
    async fn a_post_that_never_left_is_repeated() {
        let names = Arc::new(Names::new([("a.test", "127.0.0.1")]));
        let gate = Gate::with_resolver(&network(&[]), Arc::<Names>::clone(&names));
        let error = send(&gate, request(Method::POST, "http://a.test:1/x")).await.unwrap_err();
        assert!(error.starts_with("cannot reach `http://a.test:1/x`: Connection refused"), "{error}");
        assert_eq!(names.asked(), 4);
    }

    #[tokio::test]
    async fn an_answer_is_an_answer_whatever_its_status() {
        for status in
            ["404 Not Found", "429 Too Many Requests", "500 Internal Server Error", "304 Not Modified"]
        {
            let server = Server::start(move |_, stream| answer(stream, status, "", b""));
            let found = get(&open(), &server.url("/")).await.unwrap();
            assert_eq!(found.0.to_string(), status[..3]);
            assert_eq!(server.requests().len(), 1);
        }
    }

    #[tokio::test]
    async fn the_time_is_that_of_all_tries() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", silent.local_addr().unwrap());
        let drop = Server::start(|_, _| ());
        let endless = Server::start(|_, stream| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nhere");
            std::mem::forget(stream.try_clone());
        });
        for url in [url, drop.url("/"), endless.url("/")] {
            let limit = Duration::from_millis(80);
            let error = open().send(request(Method::GET, &url), limit).await.unwrap_err();
            assert_eq!(error.to_string(), "Request timed out after 80 ms");
        }
    }

    #[tokio::test]
    async fn redirects_are_followed_up_to_ten() {
        for (redirects, expected) in [(10, true), (11, false)] {
            let mut left = redirects;
            let server = Server::start(move |_, stream| {
                let to = format!("location: ?left={left}\r\n");
                if left > 0 {
                    answer(stream, "302 Found", &to, b"no");
                } else {
                    answer(stream, "200 OK", &to, b"here");
                }
                left -= 1;
            });
            let found = get(&open(), &server.url("/x?secret")).await;
            let error =
                format!("`{}` was reached after 10 redirects and redirects once more", server.url("/x"));
            assert_eq!(found, if expected { Ok((200, "here".to_owned())) } else { Err(error) });
            assert_eq!(server.requests().len(), 11);
        }
    }

    #[tokio::test]
    async fn a_redirect_is_checked_like_the_first_hop() {
        let refused =
            "it is an address of the machine's own cloud service (link-local), which no tool may ask";
        for (to, error) in [
            (
                "http://169.254.169.254/latest/meta-data/",
                format!("cannot reach `169.254.169.254`: {refused}"),
            ),
            ("//0xa9fea9fe/", format!("cannot reach `169.254.169.254`: {refused}")),
            ("http://[::ffff:a9fe:a9fe]/", format!("cannot reach `[::ffff:a9fe:a9fe]`: {refused}")),
            (
                "http://elsewhere.test/",
                "cannot reach `elsewhere.test`: it is not in `network.allowHosts`".to_owned(),
            ),
            (
                "file:///etc/passwd",
                "cannot reach `file:`: only `http://` and `https://` are spoken here".to_owned(),
            ),
            ("http://me:pw@127.0.0.1/", Fault::Credentials.to_string()),
        ] {
            let head = format!("location: {to}\r\n");
            let server = Server::start(move |_, stream| answer(stream, "302 Found", &head, b""));
            let gate = Gate::new(&network(&["127.0.0.1", "169.254.169.254"]));
            assert_eq!(get(&gate, &server.url("/")).await, Err(error));
            assert_eq!(server.requests().len(), 1);
        }
    }

    #[tokio::test]
    async fn a_redirect_that_is_no_url_is_an_error() {
        let server = Server::start(|_, stream| answer(stream, "302 Found", "location: http://[\r\n", b""));
        let url = server.url("/");
        let error = format!("`{url}` redirects to something that is not a URL");
        assert_eq!(get(&open(), &url).await, Err(error));
    }

    #[tokio::test]
    async fn what_was_meant_for_one_origin_does_not_reach_another() {
        let other = Server::start(|_, stream| answer(stream, "200 OK", "", b"here"));
        let head = format!("location: {}\r\n", other.url("/"));
        let mut hops = vec![head, "location: /again\r\n".to_owned()];
        let server = Server::start(move |_, stream| answer(stream, "307 See", &hops.pop().unwrap(), b""));
        let found = send(&open(), request(Method::POST, &server.url("/"))).await;
        assert_eq!(found, Ok((200, "here".to_owned())));
        let (seen, leaked) = (server.requests(), other.requests());
        assert!(
            seen.len() == 2 && seen.iter().all(|request| request.contains("authorization: Bearer key")),
            "{seen:?}"
        );
        assert!(leaked[0].starts_with("POST / HTTP/1.1\r\naccept: text/plain\r\n"), "{leaked:?}");
        assert!(leaked[0].ends_with("\r\n\r\nsaid") && !leaked[0].contains("key"), "{leaked:?}");
    }

    #[tokio::test]
    async fn a_name_is_what_it_resolves_to() {
        let server = Server::start(|_, stream| answer(stream, "200 OK", "", b"here"));
        let names = Names::new([
            ("mine.test", "127.0.0.1"),
            ("mixed.test", "169.254.169.254"),
            ("mixed.test", "127.0.0.1"),
            ("cloud.test", "169.254.169.254"),
            ("any.test", "::"),
        ]);
        let gate = Gate::with_resolver(&network(&["*.test"]), Arc::new(names));
        let url = |name: &str| format!("http://{name}:{}/", server.port());
        assert_eq!(get(&gate, &url("mine.test")).await, Ok((200, "here".to_owned())));
        assert_eq!(get(&gate, &url("mixed.test")).await, Ok((200, "here".to_owned())));
        for (name, why) in [
            ("cloud.test", "`169.254.169.254`, an address of the machine's own cloud service (link-local)"),
            ("any.test", "`::`, an address that does not belong to one machine"),
        ] {
            let error = format!("cannot reach `{name}`: it resolves to {why}, which no tool may ask");
            assert_eq!(get(&gate, &url(name)).await, Err(error));
        }
        assert_eq!(server.requests().len(), 2);
    }
}
