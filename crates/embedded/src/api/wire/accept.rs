//! Which form the answer shall have: the Accept header, read as upstream reads it.

use crate::api::error::{ApiError, Result};

/// How an answer is written.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Encoding {
    #[default]
    Json,
    Yaml,
}

/// What is answered in place of the object.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Form {
    /// The object itself.
    #[default]
    Object,
    /// A table; the version of `meta.k8s.io` it is of.
    Table(&'static str),
    /// The object's metadata; the version as above.
    Metadata(&'static str),
    /// The metadata of a list's objects; the version as above.
    MetadataList(&'static str),
    /// All of discovery at once, as `apidiscovery.k8s.io/v2` has it.
    Discovery,
}

/// What the Accept header came to.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Format {
    pub encoding: Encoding,
    pub form: Form,
    /// With lines and indentation. Only what the header says: the query may ask for it too.
    pub pretty: bool,
}

/// Which forms a path has to offer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Offers {
    /// Objects: tables and metadata too.
    Objects,
    /// `/api` and `/apis`: all of discovery at once too.
    Discovery,
    /// Just what it is.
    Plain,
}

impl Format {
    /// Whether objects can be sent as the bytes they are stored as.
    pub fn is_raw(self) -> bool {
        self.encoding == Encoding::Json && !self.pretty
    }

    /// The Content-Type of an answer of this format.
    pub fn content_type(self) -> &'static str {
        match (self.encoding, self.form) {
            (Encoding::Json, Form::Discovery) => {
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
            }
            (Encoding::Yaml, Form::Discovery) => {
                "application/yaml;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
            }
            (Encoding::Json, _) => "application/json",
            (Encoding::Yaml, _) => "application/yaml",
        }
    }

    /// The format of a refusal: in the encoding that was asked for, JSON if that one is not known.
    pub fn of_refusal(accept: Option<&str>) -> Self {
        let clauses = clauses(accept.unwrap_or_default());
        let encoding = clauses.iter().find_map(|clause| clause.encodings().next());
        Self { encoding: encoding.unwrap_or_default(), ..Self::default() }
    }
}

/// Chooses the first acceptable format. All of discovery at once goes before anything else.
pub fn negotiate(accept: Option<&str>, offers: Offers) -> Result<Format> {
    let accept = accept.unwrap_or_default();
    if accept.is_empty() {
        return Ok(Format::default());
    }
    let clauses = clauses(accept);
    let mut formats = clauses.iter().filter_map(|clause| clause.format(offers));
    let first = formats.next().ok_or_else(|| not_acceptable("application/json, application/yaml"))?;
    let at_once = |format: &Format| format.form == Form::Discovery;
    Ok(if at_once(&first) { first } else { formats.find(at_once).unwrap_or(first) })
}

/// The same for a watch, of which there is no YAML.
pub fn negotiate_watch(accept: Option<&str>) -> Result<Format> {
    match negotiate(accept, Offers::Objects) {
        Ok(format) if format.encoding == Encoding::Json => Ok(format),
        _ => Err(not_acceptable("application/json;stream=watch")),
    }
}

fn not_acceptable(accepted: &str) -> ApiError {
    ApiError::not_acceptable(format!("only the following media types are accepted: {accepted}"))
}

/// One of the media types in an Accept header.
struct Clause<'a> {
    kind: &'a str,
    subtype: &'a str,
    quality: f32,
    parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> Clause<'a> {
    /// `None` if it is malformed.
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';');
        let media_type = parts.next().unwrap_or_default();
        let (kind, subtype) = match media_type.split_once('/') {
            Some((kind, subtype)) if !subtype.is_empty() && !subtype.contains('/') => {
                (kind.trim(), subtype.trim())
            }
            _ if media_type.trim() == "*" => ("*", "*"),
            _ => return None,
        };
        let pair = |part: &'a str| part.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
        let parameters: Vec<_> = parts.filter_map(pair).filter(|(_, value)| !value.contains('=')).collect();
        let quality = parameters.iter().find(|(name, _)| *name == "q");
        let quality = quality.map_or(1.0, |(_, value)| value.parse().unwrap_or_default());
        Some(Self { kind, subtype, quality, parameters })
    }

    fn parameter(&self, name: &str) -> Option<&'a str> {
        self.parameters.iter().rev().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }

    /// Upstream's order. It is none: of two clauses each can come before the other. Hence the sort below.
    fn before(&self, other: &Self) -> bool {
        self.quality > other.quality
            || (self.kind != "*" && other.kind == "*")
            || (self.subtype != "*" && other.subtype == "*")
    }

    /// The encodings that it allows, the preferred first.
    fn encodings(&self) -> impl Iterator<Item = Encoding> {
        let any = matches!((self.kind, self.subtype), ("*" | "application", "*"));
        let named = |subtype| self.kind == "application" && self.subtype == subtype;
        let (json, yaml) = (any || named("json"), any || named("yaml"));
        [(json, Encoding::Json), (yaml, Encoding::Yaml)]
            .into_iter()
            .filter_map(|(allowed, encoding)| allowed.then_some(encoding))
    }

    fn format(&self, offers: Offers) -> Option<Format> {
        let form = self.form(offers)?;
        let stream = self.parameter("stream").unwrap_or_default();
        let server_version = self.parameter("sv").unwrap_or_default();
        if !matches!(stream, "" | "watch") || !matches!(server_version, "" | "v1") {
            return None;
        }
        let encoding = self.encodings().find(|encoding| stream.is_empty() || *encoding == Encoding::Json)?;
        Some(Format { encoding, form, pretty: self.parameter("pretty") == Some("1") })
    }

    fn form(&self, offers: Offers) -> Option<Form> {
        let [kind, group, version] = ["as", "g", "v"].map(|name| self.parameter(name));
        if kind.is_none() && group.is_none() && version.is_none() {
            return Some(Form::Object);
        }
        let version = match version? {
            "v1" => "v1",
            "v1beta1" => "v1beta1",
            "v2" => "v2",
            _ => return None,
        };
        match (offers, group?, version, kind?) {
            (Offers::Objects, "meta.k8s.io", "v1" | "v1beta1", kind) => match kind {
                "Table" => Some(Form::Table(version)),
                "PartialObjectMetadata" => Some(Form::Metadata(version)),
                "PartialObjectMetadataList" => Some(Form::MetadataList(version)),
                _ => None,
            },
            (Offers::Discovery, "apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList") => {
                Some(Form::Discovery)
            }
            _ => None,
        }
    }
}

/// The clauses of a header in the order of preference, a reasonable number of them.
fn clauses(accept: &str) -> Vec<Clause<'_>> {
    const MAX: usize = 32;
    let mut clauses: Vec<Clause<'_>> = Vec::new();
    for clause in accept.split(',').map(|clause| clause.trim_matches(' ')).filter_map(Clause::parse).take(MAX)
    {
        let mut at = clauses.len();
        while at > 0 && clause.before(&clauses[at - 1]) {
            at -= 1;
        }
        clauses.insert(at, clause);
    }
    clauses
}
