//! The messages whose value in JSON is no object: times, quantities, and what is a number or a text.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Number, Value};

use super::{Fault, reader::Reader};

/// The second at which Go's times start, which JSON has as null.
const FIRST_SECOND: i64 = -62_135_596_800;

/// A time with whole seconds.
pub(super) fn time(message: &[u8]) -> Result<Value, Fault> {
    // Fractions are dropped, since JSON never had them.
    let (seconds, _) = timestamp(message)?;
    point_in_time(message, seconds, 0)
        .map(|point| point.map_or(Value::Null, |point| format!("{point:.0}").into()))
}

/// A time with six digits of a fraction.
pub(super) fn micro_time(message: &[u8]) -> Result<Value, Fault> {
    let (seconds, nanos) = timestamp(message)?;
    let micros = nanos / 1000 * 1000;
    point_in_time(message, seconds, micros)
        .map(|point| point.map_or(Value::Null, |point| format!("{point:.6}").into()))
}

/// Seconds and nanoseconds.
fn timestamp(message: &[u8]) -> Result<(i64, i32), Fault> {
    let (mut seconds, mut nanos) = (0, 0);
    let mut reader = Reader::new(message);
    while let Some((number, field)) = reader.next()? {
        match number {
            1 => seconds = field.varint("Seconds")? as i64,
            2 => nanos = field.varint("Nanos")? as i32,
            _ => {}
        }
    }
    Ok((seconds, nanos))
}

/// `None` for Go's zero, which is an empty message.
fn point_in_time(message: &[u8], seconds: i64, nanos: i32) -> Result<Option<Timestamp>, Fault> {
    if message.is_empty() || (seconds, nanos) == (FIRST_SECOND, 0) {
        return Ok(None);
    }
    let point = Timestamp::from_second(seconds).ok();
    let point = point.and_then(|point| point.checked_add(SignedDuration::from_nanos(nanos.into())).ok());
    match point {
        Some(point) if point.as_second() >= FIRST_SECOND => Ok(Some(point)),
        _ => Err(Fault::malformed("a time is outside of the years 1 to 9999")),
    }
}

/// A quantity as it is written.
pub(super) fn quantity(message: &[u8]) -> Result<Value, Fault> {
    let mut text = None;
    let mut reader = Reader::new(message);
    while let Some((number, field)) = reader.next()? {
        if number == 1 {
            text = Some(field.text("String_")?);
        }
    }
    Ok(text.unwrap_or_else(|| "0".to_owned()).into())
}

pub(super) fn int_or_string(message: &[u8]) -> Result<Value, Fault> {
    let (mut kind, mut number, mut text) = (0, 0, String::new());
    let mut reader = Reader::new(message);
    while let Some((field_number, field)) = reader.next()? {
        match field_number {
            1 => kind = field.varint("Type")?,
            2 => number = field.varint("IntVal")? as i32,
            3 => text = field.text("StrVal")?,
            _ => {}
        }
    }
    match kind {
        0 => Ok(number.into()),
        1 => Ok(text.into()),
        _ => Err(Fault::malformed("impossible IntOrString.Type")),
    }
}

/// The bytes of a message that is JSON as text.
pub(super) fn raw(message: &[u8]) -> Result<&[u8], Fault> {
    let mut raw: &[u8] = &[];
    let mut reader = Reader::new(message);
    while let Some((number, field)) = reader.next()? {
        if number == 1 {
            raw = field.bytes("Raw")?;
        }
    }
    Ok(raw)
}

/// A number as Go writes it: without a fraction if it has none.
pub(super) fn double(bits: u64) -> Result<Value, Fault> {
    // Every whole number below this one fits 64 bits.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    let value = f64::from_bits(bits);
    let negative_zero = value == 0.0 && value.is_sign_negative();
    if value.fract() == 0.0 && value.abs() < LIMIT && !negative_zero {
        return Ok((value as i64).into());
    }
    let number = Number::from_f64(value);
    number.map(Value::Number).ok_or_else(|| Fault::malformed("a number must be finite"))
}
