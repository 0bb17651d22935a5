//! The wire format: numbered fields, one after the other. Faults have the words of the Go decoder.

use super::Fault;

/// A field as it stands on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wire<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    /// A type that no field of ours has: 32 bits, or a group, which is skipped whole.
    Other(u8),
}

impl<'a> Wire<'a> {
    pub(super) fn varint(self, field: &str) -> Result<u64, Fault> {
        if let Self::Varint(value) = self { Ok(value) } else { Err(self.is_wrong_for(field)) }
    }

    pub(super) fn fixed64(self, field: &str) -> Result<u64, Fault> {
        if let Self::Fixed64(value) = self { Ok(value) } else { Err(self.is_wrong_for(field)) }
    }

    pub(super) fn bytes(self, field: &str) -> Result<&'a [u8], Fault> {
        if let Self::Bytes(value) = self { Ok(value) } else { Err(self.is_wrong_for(field)) }
    }

    /// Text as Go's JSON would have it, which replaces what is no UTF-8.
    pub(super) fn text(self, field: &str) -> Result<String, Fault> {
        Ok(String::from_utf8_lossy(self.bytes(field)?).into_owned())
    }

    pub(super) fn is_wrong_for(self, field: &str) -> Fault {
        let wire_type = match self {
            Self::Varint(_) => 0,
            Self::Fixed64(_) => 1,
            Self::Bytes(_) => 2,
            Self::Other(wire_type) => wire_type,
        };
        Fault::Malformed(format!("proto: wrong wireType = {wire_type} for field {field}"))
    }
}

/// Goes through a message.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// The next field and its number; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(u32, Wire<'a>)>, Fault> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (number, wire_type) = self.tag()?;
        let number = match u32::try_from(number) {
            Ok(number) if number > 0 => number,
            _ => {
                return Err(Fault::Malformed(format!("proto: illegal tag {number} (wire type {wire_type})")));
            }
        };
        let field = match wire_type {
            0 => Wire::Varint(self.varint()?),
            1 => Wire::Fixed64(self.fixed64()?),
            2 => Wire::Bytes(self.bytes()?),
            3 => self.skip_group()?,
            4 => return Err(Fault::malformed("proto: wiretype end group for non-group")),
            5 => self.take(4).map(|_| Wire::Other(5))?,
            _ => return Err(Fault::Malformed(format!("proto: illegal wireType {wire_type}"))),
        };
        Ok(Some((number, field)))
    }

    /// Whether anything is left.
    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn varint(&mut self) -> Result<u64, Fault> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.rest.split_first().ok_or_else(unexpected_end)?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Fault::malformed("proto: integer overflow"))
    }

    pub(super) fn fixed64(&mut self) -> Result<u64, Fault> {
        let bytes = self.take(8)?.try_into().map_err(|_| unexpected_end())?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// The number of a field, cut to 32 bits like Go's, and its type.
    fn tag(&mut self) -> Result<(i32, u8), Fault> {
        let tag = self.varint()?;
        Ok(((tag >> 3) as i32, (tag & 7) as u8))
    }

    fn bytes(&mut self) -> Result<&'a [u8], Fault> {
        let length = i64::from_ne_bytes(self.varint()?.to_ne_bytes());
        if length < 0 {
            return Err(Fault::malformed("proto: negative length found during unmarshaling"));
        }
        self.take(usize::try_from(length).map_err(|_| unexpected_end())?)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or_else(unexpected_end)?;
        self.rest = rest;
        Ok(taken)
    }

    /// Skips to the end of a group, by counting: groups in groups cost no stack.
    fn skip_group(&mut self) -> Result<Wire<'a>, Fault> {
        let mut depth = 1_usize;
        while depth > 0 {
            match self.tag()?.1 {
                0 => drop(self.varint()?),
                1 => drop(self.take(8)?),
                2 => drop(self.bytes()?),
                3 => depth += 1,
                4 => depth -= 1,
                5 => drop(self.take(4)?),
                wire_type => return Err(Fault::Malformed(format!("proto: illegal wireType {wire_type}"))),
            }
        }
        Ok(Wire::Other(3))
    }
}

fn unexpected_end() -> Fault {
    Fault::malformed("unexpected EOF")
}
