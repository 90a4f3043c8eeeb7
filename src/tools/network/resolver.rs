//! Owns how names become addresses for the network tools: the system's answer without the addresses that are refused.
//!
//! The connection uses this answer and no second one, so a name cannot mean one thing when it is checked and another when it is used.

use std::net::ToSocketAddrs as _;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::address::{self, Refusal};

/// The resolver of the system.
pub(super) struct System;

impl Resolve for System {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let lookup = tokio::task::spawn_blocking(move || (name.as_str(), 0).to_socket_addrs());
            Ok(Box::new(lookup.await??) as Addrs)
        })
    }
}

/// A resolver whose answers leave out what is refused.
pub(super) struct Checked(pub(super) Arc<dyn Resolve>);

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let answer = self.0.resolve(name);
        Box::pin(async move {
            let mut open = Vec::new();
            let mut refused = None;
            for address in answer.await? {
                match address::kind(address.ip()) {
                    Some(kind) => refused = refused.or(Some(Refusal::Resolved(address.ip(), kind))),
                    None => open.push(address),
                }
            }
            match refused {
                Some(refusal) if open.is_empty() => Err(refusal.into()),
                _ => Ok(Box::new(open.into_iter()) as Addrs),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    /// Answers every name in the same way.
    struct Answer(Vec<SocketAddr>);

    impl Resolve for Answer {
        fn resolve(&self, _: Name) -> Resolving {
            let answer = self.0.clone();
            Box::pin(async move { Ok(Box::new(answer.into_iter()) as Addrs) })
        }
    }

    async fn checked(answer: &[&str]) -> Result<Vec<SocketAddr>, String> {
        let answer = answer.iter().map(|address| address.parse().unwrap()).collect();
        let resolver = Checked(Arc::new(Answer(answer)));
        let found = resolver.resolve("any.test".parse().unwrap()).await;
        found.map(Iterator::collect).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn what_is_refused_is_left_out() {
        let open: SocketAddr = "127.0.0.1:0".parse().unwrap();
        assert_eq!(checked(&["169.254.0.1:0", "127.0.0.1:0", "[fe80::1]:0"]).await, Ok(vec![open]));
        assert_eq!(checked(&[]).await, Ok(vec![]));
        assert_eq!(
            checked(&["[::ffff:169.254.169.254]:0", "0.0.0.0:0"]).await,
            Err("it resolves to `::ffff:169.254.169.254`, an address of the machine's own cloud service (link-local), which no \
                 tool may ask"
                .to_owned())
        );
    }

    #[tokio::test]
    async fn the_system_knows_this_machine() {
        let found = System.resolve("localhost".parse().unwrap()).await.unwrap();
        assert!(found.map(|address| address.ip()).all(|ip| ip.is_loopback()));
    }
}
