//! Breaks a good server on purpose.
