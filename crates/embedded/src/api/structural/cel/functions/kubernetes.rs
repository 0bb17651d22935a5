//! Kubernetes' own: quantities, URLs, addresses.

use std::{cmp::Ordering, net::IpAddr};

use super::{
    super::{
        super::uri,
        kind::Kind,
        meter::{Failure, Outcome},
        value::{Text as Txt, Val},
    },
    Call, Overload,
    Param::{Cidr, Int, Ip, Quantity, Text, Url},
    bool_kind, global, int_kind, member, one, walk,
};
use crate::api::quantity::Quantity as Amount;

fn quantity_kind<'s>(_: &[Kind<'s>]) -> Kind<'s> {
    Kind::Quantity
}

fn part_kind<'s>(_: &[Kind<'s>]) -> Kind<'s> {
    // No part of a URL is longer than a request.
    Kind::Text(3 * 1024 * 1024)
}

pub const TABLE: &[Overload] = &[
    global("isQuantity", &[Text], bool_kind, walk, |c| {
        c.meter.charge_bytes(c.text(0).len())?;
        Ok(Val::Bool(Amount::parse(c.text(0)).is_ok()))
    }),
    global("quantity", &[Text], quantity_kind, walk, |c| {
        c.meter.charge_bytes(c.text(0).len())?;
        Amount::parse(c.text(0)).map(Val::Quantity).map_err(Failure::error)
    }),
    member("isInteger", &[Quantity], bool_kind, one, |c| Ok(Val::Bool(amount(c, 0)?.as_integer().is_some()))),
    member("asInteger", &[Quantity], int_kind, one, |c| {
        let integer = amount(c, 0)?.as_integer();
        integer.map(Val::Int).ok_or_else(|| Failure::error("cannot convert value to integer"))
    }),
    member(
        "asApproximateFloat",
        &[Quantity],
        |_| Kind::Double,
        one,
        |c| Ok(Val::Double(amount(c, 0)?.as_float())),
    ),
    member("sign", &[Quantity], int_kind, one, |c| Ok(Val::Int(amount(c, 0)?.nanos().signum() as i64))),
    member("isGreaterThan", &[Quantity, Quantity], bool_kind, one, |c| {
        Ok(Val::Bool(amount(c, 0)? > amount(c, 1)?))
    }),
    member("isLessThan", &[Quantity, Quantity], bool_kind, one, |c| {
        Ok(Val::Bool(amount(c, 0)? < amount(c, 1)?))
    }),
    member("compareTo", &[Quantity, Quantity], int_kind, one, |c| {
        Ok(Val::Int(match amount(c, 0)?.cmp(&amount(c, 1)?) {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        }))
    }),
    member("add", &[Quantity, Quantity], quantity_kind, one, |c| {
        Ok(Val::Quantity(amount(c, 0)?.plus(amount(c, 1)?.nanos())))
    }),
    member("add", &[Quantity, Int], quantity_kind, one, |c| {
        Ok(Val::Quantity(amount(c, 0)?.plus(Amount::of_integer(c.int(1)).nanos())))
    }),
    member("sub", &[Quantity, Quantity], quantity_kind, one, |c| {
        Ok(Val::Quantity(amount(c, 0)?.plus(-amount(c, 1)?.nanos())))
    }),
    member("sub", &[Quantity, Int], quantity_kind, one, |c| {
        Ok(Val::Quantity(amount(c, 0)?.plus(-Amount::of_integer(c.int(1)).nanos())))
    }),
    global("isURL", &[Text], bool_kind, walk, |c| {
        c.meter.charge_bytes(c.text(0).len())?;
        Ok(Val::Bool(uri::Uri::parse(c.text(0)).is_some()))
    }),
    global(
        "url",
        &[Text],
        |_| Kind::Url,
        walk,
        |c| {
            c.meter.charge_bytes(c.text(0).len())?;
            match (&c.args[0], uri::Uri::parse(c.text(0))) {
                (Val::Text(text), Some(_)) => Ok(Val::Url(text.clone())),
                _ => Err(Failure::error("URL parse error during conversion from string")),
            }
        },
    ),
    member("getScheme", &[Url], part_kind, one, |c| part(c, |uri| uri.scheme)),
    member("getHost", &[Url], part_kind, one, |c| part(c, |uri| uri.host)),
    member("getHostname", &[Url], part_kind, one, |c| part(c, |uri| uri.hostname())),
    member("getPort", &[Url], part_kind, one, |c| part(c, |uri| uri.port())),
    member("getEscapedPath", &[Url], part_kind, one, |c| part(c, |uri| uri.path)),
    global("isIP", &[Text], bool_kind, walk, |c| Ok(Val::Bool(parse_ip(c.text(0)).is_some()))),
    global(
        "ip",
        &[Text],
        |_| Kind::Ip,
        walk,
        |c| {
            let text = c.text(0);
            parse_ip(text).map(Val::Ip).ok_or_else(|| {
                Failure::error(format!(
                    "IP Address {:?} parse error during conversion from string",
                    cut(text)
                ))
            })
        },
    ),
    global("ip.isCanonical", &[Text], bool_kind, walk, |c| match parse_ip(c.text(0)) {
        Some(ip) => Ok(Val::Bool(ip.to_string() == c.text(0))),
        None => Err(Failure::error("IP Address parse error during conversion from string")),
    }),
    member("family", &[Ip], int_kind, one, |c| Ok(Val::Int(if ip(c, 0)?.is_ipv4() { 4 } else { 6 }))),
    member("isUnspecified", &[Ip], bool_kind, one, |c| Ok(Val::Bool(ip(c, 0)?.is_unspecified()))),
    member("isLoopback", &[Ip], bool_kind, one, |c| Ok(Val::Bool(ip(c, 0)?.is_loopback()))),
    member("isLinkLocalMulticast", &[Ip], bool_kind, one, |c| {
        Ok(Val::Bool(match ip(c, 0)? {
            IpAddr::V4(ip) => ip.octets()[..3] == [224, 0, 0],
            IpAddr::V6(ip) => ip.segments()[0] & 0xff0f == 0xff02,
        }))
    }),
    member("isLinkLocalUnicast", &[Ip], bool_kind, one, |c| Ok(Val::Bool(is_link_local(ip(c, 0)?)))),
    member("isGlobalUnicast", &[Ip], bool_kind, one, |c| {
        let ip = ip(c, 0)?;
        let broadcast = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
        let special = ip.is_unspecified() || ip.is_loopback() || ip.is_multicast() || is_link_local(ip);
        Ok(Val::Bool(!broadcast && !special))
    }),
    global("string", &[Ip], |_| Kind::Text(45), one, |c| Ok(Val::made(ip(c, 0)?.to_string()))),
    global("isCIDR", &[Text], bool_kind, walk, |c| Ok(Val::Bool(parse_cidr(c.text(0)).is_some()))),
    global(
        "cidr",
        &[Text],
        |_| Kind::Cidr,
        walk,
        |c| {
            let parsed = parse_cidr(c.text(0)).map(|(ip, bits)| Val::Cidr(ip, bits));
            parsed.ok_or_else(|| {
                Failure::error(format!(
                    "network address parse error during conversion from string: {:?}",
                    cut(c.text(0))
                ))
            })
        },
    ),
    member("ip", &[Cidr], |_| Kind::Ip, one, |c| Ok(Val::Ip(cidr(c, 0)?.0))),
    member("prefixLength", &[Cidr], int_kind, one, |c| Ok(Val::Int(cidr(c, 0)?.1.into()))),
    member(
        "masked",
        &[Cidr],
        |_| Kind::Cidr,
        one,
        |c| {
            let (ip, bits) = cidr(c, 0)?;
            Ok(Val::Cidr(masked(ip, bits), bits))
        },
    ),
    member("containsIP", &[Cidr, Ip], bool_kind, one, |c| Ok(Val::Bool(covers(cidr(c, 0)?, ip(c, 1)?)))),
    member(
        "containsIP",
        &[Cidr, Text],
        bool_kind,
        |args| 2 + args[1].size() / 10,
        |c| {
            let ip = parse_ip(c.text(1)).ok_or_else(|| Failure::error("IP Address parse error"))?;
            Ok(Val::Bool(covers(cidr(c, 0)?, ip)))
        },
    ),
    member("containsCIDR", &[Cidr, Cidr], bool_kind, one, |c| {
        let (outer, inner) = (cidr(c, 0)?, cidr(c, 1)?);
        Ok(Val::Bool(outer.1 <= inner.1 && covers(outer, inner.0)))
    }),
    member(
        "containsCIDR",
        &[Cidr, Text],
        bool_kind,
        |args| 2 + args[1].size() / 10,
        |c| {
            let outer = cidr(c, 0)?;
            let inner = parse_cidr(c.text(1)).ok_or_else(|| Failure::error("network address parse error"))?;
            Ok(Val::Bool(outer.1 <= inner.1 && covers(outer, inner.0)))
        },
    ),
    global(
        "string",
        &[Cidr],
        |_| Kind::Text(50),
        one,
        |c| {
            let (ip, bits) = cidr(c, 0)?;
            Ok(Val::made(format!("{ip}/{bits}")))
        },
    ),
];

/// The beginning of a text, for a message.
fn cut(text: &str) -> String {
    text.chars().take(100).collect()
}

fn amount(call: &Call<'_, '_>, index: usize) -> Result<Amount, Failure> {
    match call.args.get(index) {
        Some(Val::Quantity(amount)) => Ok(*amount),
        _ => Err(Failure::no_such_overload()),
    }
}

fn part<'v>(call: &mut Call<'_, 'v>, read: for<'u> fn(&uri::Uri<'u>) -> &'u str) -> Outcome<'v> {
    call.meter.charge_bytes(call.text(0).len())?;
    match &call.args[0] {
        Val::Url(Txt::There(text)) => {
            let part = uri::Uri::parse(text).map_or("", |uri| read(&uri));
            Ok(Val::Text(Txt::There(part)))
        }
        Val::Url(text) => Ok(Val::made(uri::Uri::parse(text.as_str()).map_or("", |uri| read(&uri)))),
        _ => Err(Failure::no_such_overload()),
    }
}

/// Only the usual form: no zone, no IPv4 inside IPv6.
fn parse_ip(text: &str) -> Option<IpAddr> {
    let ip: IpAddr = text.parse().ok()?;
    let mapped = matches!(ip, IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some());
    (!mapped).then_some(ip)
}

fn parse_cidr(text: &str) -> Option<(IpAddr, u8)> {
    let (ip, bits) = text.split_once('/')?;
    let ip = parse_ip(ip)?;
    let max = if ip.is_ipv4() { 32 } else { 128 };
    let plain = bits == "0" || !bits.starts_with(['0', '+']);
    let bits = bits.parse::<u8>().ok().filter(|bits| *bits <= max && plain)?;
    Some((ip, bits))
}

fn ip(call: &Call<'_, '_>, index: usize) -> Result<IpAddr, Failure> {
    match call.args.get(index) {
        Some(Val::Ip(ip)) => Ok(*ip),
        _ => Err(Failure::no_such_overload()),
    }
}

fn cidr(call: &Call<'_, '_>, index: usize) -> Result<(IpAddr, u8), Failure> {
    match call.args.get(index) {
        Some(Val::Cidr(ip, bits)) => Ok((*ip, *bits)),
        _ => Err(Failure::no_such_overload()),
    }
}

fn is_link_local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.segments()[0] & 0xffc0 == 0xfe80,
    }
}

fn masked(ip: IpAddr, bits: u8) -> IpAddr {
    match ip {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            IpAddr::V4((u32::from(ip) & mask).into())
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            IpAddr::V6((u128::from(ip) & mask).into())
        }
    }
}

fn covers((network, bits): (IpAddr, u8), ip: IpAddr) -> bool {
    network.is_ipv4() == ip.is_ipv4() && masked(network, bits) == masked(ip, bits)
}
