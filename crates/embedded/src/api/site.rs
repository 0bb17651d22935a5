//! Paths that are no resources: discovery, the published schema, version and health.

use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderValue, Method, Response, StatusCode, header, request::Parts};
use serde_json::Value;

use super::{
    crd, definitions,
    discovery::{self, Custom, CustomVersion, Served},
    error::{ApiError, Result},
    openapi::{self, Caching},
    options::Query,
    server::Server,
    wire::{self, Form, Format, Offers},
};
use crate::store::Key;

/// What a request to such a path does, in the words of access rules.
pub fn verb(method: &Method) -> &'static str {
    match *method {
        Method::GET => "get",
        Method::HEAD => "head",
        Method::POST => "post",
        Method::PUT => "put",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "",
    }
}

/// Answers a request for such a path.
pub fn answer(server: &Arc<Server>, head: &Parts) -> Result<Response<Body>> {
    if !matches!(head.method, Method::GET | Method::HEAD) {
        return Err(ApiError::method_not_allowed());
    }
    let path = head.uri.path().trim_end_matches('/');
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    let page = Page { server, head };
    match segments.as_slice() {
        [check @ ("healthz" | "livez" | "readyz")] => Ok(page.health(check)),
        ["version"] => page.document(discovery::server_version(), Offers::Plain),
        ["api"] => page.discover(true),
        ["apis"] => page.discover(false),
        ["api", version] => page.maybe(served(server).resource_list("", version)),
        ["apis", group] => page.maybe(served(server).group_document(group)),
        ["apis", group, version] => page.maybe(served(server).resource_list(group, version)),
        ["openapi", "v2"] => page.schema_v2(),
        ["openapi", "v3"] => page.document(openapi::index(&served(server), &page.published()), Offers::Plain),
        ["openapi", "v3", ..] => page.schema(path.trim_start_matches("/openapi/v3/")),
        [] | [""] => page.document(serde_json::json!({ "paths": PATHS }), Offers::Plain),
        _ => Ok(not_found()),
    }
}

const PATHS: [&str; 9] =
    ["/api", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version", "/"];

/// What is served now.
fn served(server: &Server) -> Served {
    let mut kinds: Vec<Custom> = Vec::new();
    for resource in server.resources.all().values().filter(|resource| resource.custom().is_some()) {
        let version = CustomVersion {
            name: resource.version.clone(),
            status: resource.status,
            scale: resource.scale.is_some(),
        };
        let known =
            kinds.iter_mut().find(|kind| kind.group == resource.group && kind.plural == resource.plural);
        match known {
            Some(kind) => kind.versions.push(version),
            None => kinds.push(Custom {
                group: resource.group.clone(),
                plural: resource.plural.clone(),
                singular: resource.singular.clone(),
                kind: resource.kind.clone(),
                short_names: resource.short_names.clone(),
                categories: resource.categories.clone(),
                namespaced: resource.namespaced,
                versions: vec![version],
            }),
        }
    }
    Served::with(kinds)
}

struct Page<'a> {
    server: &'a Server,
    head: &'a Parts,
}

impl Page<'_> {
    fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.head.headers.get(name).and_then(|value| value.to_str().ok())
    }

    fn format(&self, offers: Offers) -> Result<Format> {
        let mut format = wire::negotiate(self.header(header::ACCEPT), offers)?;
        let query = Query::parse(self.head.uri.query().unwrap_or_default());
        format.pretty |= query.pretty(self.header(header::USER_AGENT).unwrap_or_default());
        Ok(format)
    }

    /// Whoever gets an answer at all has one from a healthy server.
    fn health(&self, check: &str) -> Response<Body> {
        let query = Query::parse(self.head.uri.query().unwrap_or_default());
        match query.first("verbose") {
            None => text(StatusCode::OK, "ok"),
            Some(_) => text(StatusCode::OK, format!("[+]ping ok\n{check} check passed\n")),
        }
    }

    fn document(&self, document: Value, offers: Offers) -> Result<Response<Body>> {
        let format = self.format(offers)?;
        self.respond(wire::encode(&document, format)?, format.content_type(), None)
    }

    fn maybe(&self, document: Option<Value>) -> Result<Response<Body>> {
        match document {
            Some(document) => self.document(document, Offers::Plain),
            None => Ok(not_found()),
        }
    }

    fn discover(&self, core: bool) -> Result<Response<Body>> {
        let (format, served) = (self.format(Offers::Discovery)?, served(self.server));
        if format.form == Form::Discovery {
            let body = wire::encode(&served.aggregated(core), format)?;
            let etag = discovery::etag(&body);
            return self.respond(body, format.content_type(), Some(&etag));
        }
        let address = self.header(header::HOST).unwrap_or_default();
        let document = if core { served.core_versions(address) } else { served.group_list() };
        self.respond(wire::encode(&document, format)?, format.content_type(), None)
    }

    /// The schema of a custom kind, as its definition has it.
    fn published(&self) -> impl Fn(&str, &str, &str) -> Option<Value> {
        |group, version, kind| {
            let all = self.server.resources.all();
            let resource = all.values().find(|resource| {
                resource.group == group && resource.version == version && resource.kind == kind
            })?;
            let name = format!("{}.{group}", resource.plural);
            let definition = self.server.store.get(&Key::new(definitions::COLLECTION, "", name))?;
            crd::publish(&definition.value(), version)
        }
    }

    /// The published schema of a group's version.
    fn schema(&self, rest: &str) -> Result<Response<Body>> {
        let Some((group, version)) = openapi::parse_path(rest) else { return Ok(not_found()) };
        let Some(body) = openapi::document(&served(self.server), group, version, &self.published()) else {
            return Ok(not_found());
        };
        let etag = discovery::etag(&body);
        let query = Query::parse(self.head.uri.query().unwrap_or_default());
        let caching = openapi::caching(group, version, &etag, query.first("hash"));
        if let Caching::Moved(place) = &caching {
            let mut response = text(StatusCode::MOVED_PERMANENTLY, "");
            let place = HeaderValue::from_str(place).map_err(ApiError::internal)?;
            response.headers_mut().insert(header::LOCATION, place);
            return Ok(response);
        }
        let mut response = self.respond(body, "application/json", Some(&etag))?;
        let kept = if caching == Caching::Forever { "public, immutable" } else { "no-cache, private" };
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static(kept));
        Ok(response)
    }

    fn schema_v2(&self) -> Result<Response<Body>> {
        if openapi::v2::is_protobuf(self.header(header::ACCEPT).unwrap_or_default()) {
            return self.respond(openapi::v2::protobuf(), openapi::v2::PROTOBUF, None);
        }
        self.document(openapi::v2::document(), Offers::Plain)
    }

    fn respond(&self, body: Bytes, content_type: &'static str, etag: Option<&str>) -> Result<Response<Body>> {
        let unchanged =
            etag.is_some_and(|etag| discovery::unchanged(self.header(header::IF_NONE_MATCH), etag));
        let compressed = wire::compress(&body, self.header(header::ACCEPT_ENCODING));
        let gzip = compressed.is_some() && !unchanged;
        let body = if unchanged { Bytes::new() } else { compressed.unwrap_or(body) };
        let mut response = Response::new(Body::from(body));
        if unchanged {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        headers.insert(header::VARY, HeaderValue::from_static("Accept, Accept-Encoding"));
        if gzip {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        if let Some(Ok(etag)) = etag.map(HeaderValue::from_str) {
            headers.insert(header::ETAG, etag);
        }
        Ok(response)
    }
}

fn text(code: StatusCode, text: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(text.into());
    *response.status_mut() = code;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}

/// Unknown paths are refused in plain text, as upstream does.
pub fn not_found() -> Response<Body> {
    text(StatusCode::NOT_FOUND, "404 page not found\n")
}
