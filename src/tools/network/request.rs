//! Owns `http_request`: one request as a model puts it, and the answer as a value.
//!
//! A status of 4xx or 5xx is a result and not an error: what it means is for the model to say. Nothing of a request is repaired or left
//! out: a header that cannot be sent is an error that names it, without its value.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value, json};

use super::gate::{Gate, Reply};
use super::outgoing::Outgoing;
use crate::tool::ParameterType::{Number as Numeric, Object, String as Text};
use crate::tool::{Tool, ToolContext, ToolError, ToolSchema};
use crate::tools::parameter::whole;

/// Headers that follow from the request; a second opinion on them would be one about where it goes or where it ends.
const NOT_FOR_CALLERS: [HeaderName; 7] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::EXPECT,
    header::HOST,
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// The tool `http_request`.
pub(in crate::tools) struct HttpRequest(pub(in crate::tools) Arc<Gate>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::tools) struct Args {
    url: String,
    method: String,
    headers: Option<Map<String, Value>>,
    query_params: Option<Map<String, Value>>,
    body: Option<String>,
    timeout: Number,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::tools) struct Answered {
    status: u16,
    status_text: &'static str,
    headers: Map<String, Value>,
    body: String,
}

impl Tool for HttpRequest {
    const NAME: &'static str = "http_request";
    type Args = Args;
    type Output = Answered;

    fn schema(&self) -> ToolSchema {
        ToolSchema::new(
            Self::NAME,
            "Makes an HTTP request and returns `{status, statusText, headers, body}`, whatever the status. Redirects are followed; \
             connections that fail are tried again; the body is cut at 1 MB, and described if it is not text.",
        )
        .required("url", Text, "The URL, beginning with `https://` or `http://`; what it has in its query is kept.")
        .defaulted("method", Text, "The HTTP method, such as `GET`, `POST`, `PUT` or `DELETE`.", json!("GET"))
        .optional("headers", Object, "Headers by name, such as `{\"Accept\": \"application/json\"}`.")
        .optional(
            "queryParams",
            Object,
            "Parameters to append to the query, unencoded, such as `{\"page\": 2, \"tag\": [\"a\", \"b\"]}`; a list repeats its name.",
        )
        .optional("body", Text, "The body; for JSON, its text, with a `Content-Type` among the headers.")
        .defaulted(
            "timeout",
            Numeric,
            "Milliseconds after which the call fails, tries and redirects included.",
            json!(30_000),
        )
    }

    async fn call(&self, args: Args, _: &ToolContext) -> Result<Answered, ToolError> {
        let limit = Duration::from_millis(whole("timeout", &args.timeout, 1)?);
        let mut url = parse_url("url", &args.url)?;
        append(&mut url, &args.query_params.unwrap_or_default())?;
        let request = Outgoing {
            method: method(&args.method)?,
            url,
            headers: headers(&args.headers.unwrap_or_default())?,
            body: args.body,
        };
        let reply = self.0.send(request, limit).await?;
        Ok(answered(&reply))
    }
}

/// Returns the URL that a parameter holds; the message does not repeat it, for there may be a password in it.
pub(super) fn parse_url(parameter: &str, text: &str) -> Result<Url, ToolError> {
    Url::parse(text).map_err(|error| {
        ToolError::new(format!(
            "`{parameter}` must be a URL that begins with `https://` or `http://`: {error}"
        ))
    })
}

fn method(text: &str) -> Result<Method, ToolError> {
    let method = Method::from_bytes(text.to_ascii_uppercase().as_bytes()).ok();
    // These two are about the connection, and not about what is at the URL.
    method.filter(|method| ![Method::CONNECT, Method::TRACE].contains(method)).ok_or_else(|| {
        ToolError::new(format!("`method` must be an HTTP method such as `GET` or `POST`, not `{text}`"))
    })
}

fn headers(given: &Map<String, Value>) -> Result<HeaderMap, ToolError> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let unfit = |why: &str| ToolError::new(format!("the header `{name}` cannot be sent: {why}"));
        let known = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| unfit("its name may hold only letters, digits and `-`"))?;
        if NOT_FOR_CALLERS.contains(&known) {
            return Err(unfit("it follows from the URL and the body"));
        }
        let value = plain(value).ok_or_else(|| unfit("its value must be a string, a number or a boolean"))?;
        let value = HeaderValue::from_bytes(value.as_bytes())
            .map_err(|_| unfit("its value holds a line break or another control character"))?;
        headers.append(known, value);
    }
    Ok(headers)
}

fn append(url: &mut Url, params: &Map<String, Value>) -> Result<(), ToolError> {
    let mut pairs = Vec::new();
    for (name, value) in params {
        let values = value.as_array().map_or_else(|| std::slice::from_ref(value), Vec::as_slice);
        for value in values {
            let value = plain(value).ok_or_else(|| {
                ToolError::new(format!(
                    "`queryParams.{name}` must be a string, a number, a boolean or a list of these"
                ))
            })?;
            pairs.push((name, value));
        }
    }
    if !pairs.is_empty() {
        url.query_pairs_mut().extend_pairs(pairs);
    }
    Ok(())
}

/// Returns a value that has one obvious form as text.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(yes) => Some(yes.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn answered(reply: &Reply) -> Answered {
    let mut headers = Map::new();
    for name in reply.headers.keys() {
        let values = reply.headers.get_all(name).iter();
        let values: Vec<_> = values.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
        headers.insert(name.to_string(), values.join(", ").into());
    }
    Answered {
        status: reply.status.as_u16(),
        status_text: reply.status.canonical_reason().unwrap_or_default(),
        headers,
        body: reply.body.shown(&reply.headers),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::network::server::{Server, answer};
    use crate::tools::trial::Trial;

    async fn call(params: Value) -> Result<Value, String> {
        Trial::new().call("http_request", params).await
    }

    #[tokio::test]
    async fn an_answer_is_a_value() {
        let head = "content-type: text/plain\r\nset-cookie: a=1\r\nSet-Cookie: b=2\r\n";
        let server = Server::start(move |_, stream| answer(stream, "404 Gone away", head, b"not here"));
        assert_eq!(
            call(json!({"url": server.url("/")})).await,
            Ok(json!({
                "status": 404,
                "statusText": "Not Found",
                "headers": {"content-type": "text/plain", "set-cookie": "a=1, b=2", "connection": "close"},
                "body": "not here",
            }))
        );
        assert_eq!(
            server.requests(),
            [format!(
                "GET / HTTP/1.1\r\naccept: */*\r\nuser-agent: tepa/{}\r\naccept-encoding: gzip\r\nhost: 127.0.0.1:{}\r\n\r\n",
                env!("CARGO_PKG_VERSION"),
                server.port()
            )]
        );
    }

    #[tokio::test]
    async fn a_request_is_sent_as_it_was_put() {
        let server = Server::start(|_, stream| answer(stream, "200 OK", "", b"here"));
        let params = json!({
            "url": server.url("/x?kept=%2B&a"),
            "method": "post",
            "headers": {"User-Agent": "me", "X-Count": 3, "x-on": true, "Authorization": "Bearer ä"},
            "queryParams": {"q": "a b&c", "n": 1.5, "on": false, "tag": ["x", "y"], "none": []},
            "body": "grüße",
        });
        assert_eq!(call(params).await.unwrap()["body"], "here");
        let request = server.requests().remove(0);
        let (line, rest) = request.split_once("\r\n").unwrap();
        assert_eq!(line, "POST /x?kept=%2B&a&q=a+b%26c&n=1.5&on=false&tag=x&tag=y HTTP/1.1");
        for header in
            ["user-agent: me", "x-count: 3", "x-on: true", "authorization: Bearer ä", "content-length: 7"]
        {
            assert!(rest.contains(&format!("{header}\r\n")), "{rest}");
        }
        assert!(rest.ends_with("\r\n\r\ngrüße"), "{rest}");
    }

    #[tokio::test]
    async fn an_answer_to_head_has_no_body_to_unpack() {
        let head = "content-encoding: gzip\r\ncontent-length: 25\r\n";
        let server = Server::start(move |_, stream| answer(stream, "200 OK", head, b""));
        let returned = call(json!({"url": server.url("/"), "method": "HEAD"})).await.unwrap();
        assert_eq!((&returned["status"], &returned["body"]), (&json!(200), &json!("")));
    }

    #[tokio::test]
    async fn a_request_that_cannot_be_put_is_not_sent() {
        let server = Server::start(|_, stream| answer(stream, "200 OK", "", b""));
        for (key, value, error) in [
            (
                "method",
                json!("CONNECT"),
                "`method` must be an HTTP method such as `GET` or `POST`, not `CONNECT`",
            ),
            ("method", json!("A B"), "`method` must be an HTTP method such as `GET` or `POST`, not `A B`"),
            (
                "headers",
                json!({"Sp ace": "secret"}),
                "the header `Sp ace` cannot be sent: its name may hold only letters, digits and `-`",
            ),
            (
                "headers",
                json!({"X-Key": "secret\r\nHost: evil"}),
                "the header `X-Key` cannot be sent: its value holds a line break or another control character",
            ),
            (
                "headers",
                json!({"host": "evil"}),
                "the header `host` cannot be sent: it follows from the URL and the body",
            ),
            (
                "headers",
                json!({"X-Key": ["secret"]}),
                "the header `X-Key` cannot be sent: its value must be a string, a number or a boolean",
            ),
            (
                "queryParams",
                json!({"a": {"b": 1}}),
                "`queryParams.a` must be a string, a number, a boolean or a list of these",
            ),
            (
                "queryParams",
                json!({"a": [null]}),
                "`queryParams.a` must be a string, a number, a boolean or a list of these",
            ),
            ("timeout", json!(0), "`timeout` must be a whole number of at least 1, not `0`"),
            (
                "url",
                json!("example.com/x"),
                "`url` must be a URL that begins with `https://` or `http://`: relative URL without a base",
            ),
            (
                "url",
                json!("ftp://127.0.0.1/"),
                "cannot reach `ftp:`: only `http://` and `https://` are spoken here",
            ),
            (
                "url",
                json!("http://me:secret@127.0.0.1/"),
                "a URL may not hold a name or a password: put them into `headers`, as `Authorization`",
            ),
        ] {
            let mut params = json!({"url": server.url("/")});
            params[key] = value;
            assert_eq!(call(params).await, Err(error.to_owned()));
        }
        assert!(server.requests().is_empty());
    }
}
