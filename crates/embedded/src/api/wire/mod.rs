//! Bodies and media types: what came, and in which form the answer goes.
//!
//! [`decode`] reads JSON, YAML and Kubernetes' protobuf into one value within bounds of size, depth and memory,
//! and notes keys that occur twice. [`Format`] is what the Accept header came to. The encoders splice objects that are encoded
//! already, since the store keeps them so: a list or a watch need not parse what it passes on.
//!
//! Bodies are taken as they are: like upstream, nothing looks at their Content-Encoding, and one that is
//! compressed is malformed.

mod accept;
mod decode;
mod encode;
mod protobuf;

pub use accept::{Encoding, Form, Format, Offers, negotiate, negotiate_watch};
pub use decode::{
    Decoded, MAX_BODY, MAX_DEPTH, PatchType, body_too_large, decode, decode_custom, decode_json, decode_yaml,
};
pub use encode::{
    Encoded, ListFrame, ListMeta, WORTH_COMPRESSING, compress, encode, encode_raw, event_frames, reads_gzip,
    type_head,
};

#[cfg(test)]
mod tests;
