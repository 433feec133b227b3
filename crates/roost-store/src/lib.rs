//! The revisioned log that every object lives in.
