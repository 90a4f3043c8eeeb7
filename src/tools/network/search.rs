//! Owns `web_search`: a query to an endpoint that takes `q` and `count` and answers in JSON.
//!
//! It knows no vendor. An answer that is no success, no JSON or not whole is an error: a model would read it as what was found.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue};
use serde::Deserialize;
use serde_json::{Number, Value, json};

use super::gate::Gate;
use super::outgoing::{Outgoing, shown};
use super::request::parse_url;
use crate::text;
use crate::tool::ParameterType::{Number as Numeric, String as Text};
use crate::tool::{Tool, ToolContext, ToolError, ToolSchema};
use crate::tools::parameter::whole;

/// How long a search may take.
const LIMIT: Duration = Duration::from_secs(30);

/// How much of an answer a message repeats, in characters.
const BEGINNING: usize = 300;

/// The tool `web_search`.
pub(in crate::tools) struct WebSearch(pub(in crate::tools) Arc<Gate>);

#[derive(Deserialize)]
pub(in crate::tools) struct Args {
    query: String,
    endpoint: String,
    count: Number,
}

impl Tool for WebSearch {
    const NAME: &'static str = "web_search";
    type Args = Args;
    type Output = Value;

    fn schema(&self) -> ToolSchema {
        ToolSchema::new(
            Self::NAME,
            "Searches the web through a search API that takes the parameters `q` and `count`, and returns its JSON.",
        )
        .required("query", Text, "What to search for, in words.")
        .required(
            "endpoint",
            Text,
            "The URL of the search API, beginning with `https://` or `http://`; what it has in its query is kept.",
        )
        .defaulted("count", Numeric, "How many results to ask for.", json!(5))
    }

    async fn call(&self, args: Args, _: &ToolContext) -> Result<Value, ToolError> {
        let count = whole("count", &args.count, 1)?;
        let mut url = parse_url("endpoint", &args.endpoint)?;
        url.query_pairs_mut().append_pair("q", &args.query).append_pair("count", &count.to_string());
        let place = shown(&url);
        let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
        let request = Outgoing { method: Method::GET, url, headers, body: None };
        let reply = self.0.send(request, LIMIT).await?;
        let beginning = || {
            let body = reply.body.shown(&reply.headers);
            text::truncate(body.trim(), BEGINNING).into_owned()
        };
        if !reply.status.is_success() {
            return Err(ToolError::new(format!("`{place}` answered {}: {}", reply.status, beginning())));
        }
        if reply.body.is_cut() {
            return Err(ToolError::new(format!("the answer of `{place}` is larger than 1 MB")));
        }
        let body = reply.body.text(&reply.headers);
        body.and_then(|body| serde_json::from_str(&body).ok()).ok_or_else(|| {
            ToolError::new(format!("`{place}` answered {} without JSON: {}", reply.status, beginning()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::network::body;
    use crate::tools::network::server::{Server, answer};
    use crate::tools::trial::Trial;

    async fn call(params: Value) -> Result<Value, String> {
        Trial::new().call("web_search", params).await
    }

    #[tokio::test]
    async fn query_and_count_are_appended_and_the_json_is_returned() {
        let server = Server::start(|_, stream| answer(stream, "200 OK", "", br#"{"results": [1]}"#));
        for (path, params, line) in [
            ("/s?key=1", json!({"query": "a b&c"}), "GET /s?key=1&q=a+b%26c&count=5 HTTP/1.1"),
            ("/s", json!({"query": "ä", "count": 2}), "GET /s?q=%C3%A4&count=2 HTTP/1.1"),
        ] {
            let mut params = params;
            params["endpoint"] = server.url(path).into();
            assert_eq!(call(params).await, Ok(json!({"results": [1]})));
            let request = server.requests().pop().unwrap();
            assert_eq!(request.lines().next(), Some(line));
            assert!(request.contains("accept: application/json\r\n"), "{request}");
        }
    }

    #[tokio::test]
    async fn what_is_no_result_is_an_error() {
        for (status, body, why) in [
            (
                "401 No",
                b"{\"error\": \"who are you\"}".to_vec(),
                "401 Unauthorized: {\"error\": \"who are you\"}",
            ),
            ("200 OK", b"<html>".to_vec(), "200 OK without JSON: <html>"),
            (
                "200 OK",
                b"\xff".to_vec(),
                "200 OK without JSON: [body of 1 B that is not text: no content type]",
            ),
        ] {
            let server = Server::start(move |_, stream| answer(stream, status, "", &body));
            let error = format!("`{}` answered {why}", server.url("/s"));
            assert_eq!(call(json!({"query": "a", "endpoint": server.url("/s?key=1")})).await, Err(error));
        }
        let large = vec![b' '; body::LIMIT + 1];
        let server = Server::start(move |_, stream| answer(stream, "200 OK", "", &large));
        let error = format!("the answer of `{}` is larger than 1 MB", server.url("/s"));
        assert_eq!(call(json!({"query": "a", "endpoint": server.url("/s")})).await, Err(error));
    }

    #[tokio::test]
    async fn the_same_hosts_are_refused() {
        for (params, error) in [
            (
                json!({"query": "a", "endpoint": "http://169.254.169.254/"}),
                "cannot reach `169.254.169.254`: it is an address of the machine's own cloud service (link-local), which no tool may ask",
            ),
            (
                json!({"query": "a", "endpoint": "search"}),
                "`endpoint` must be a URL that begins with `https://` or `http://`: relative URL without a base",
            ),
            (
                json!({"query": "a", "endpoint": "http://127.0.0.1", "count": 0}),
                "`count` must be a whole number of at least 1, not `0`",
            ),
        ] {
            assert_eq!(call(params).await, Err(error.to_owned()));
        }
    }
}
