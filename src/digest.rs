//! Owns the hash of a file's content, read in parts and no further than [`LARGEST_HASHED`].

use std::io::{self, Read};

use sha2::{Digest as _, Sha256};

/// The largest file that is hashed, in bytes: a sparse file of a terabyte takes no time to make and hours to read.
pub const LARGEST_HASHED: u64 = 256 << 20;

/// Returns how many bytes there were and their SHA-256 in lower-case hexadecimal; a file that grows while it is read is read no further than the limit.
pub fn sha256(content: impl Read) -> io::Result<(u64, String)> {
    let mut content = content.take(LARGEST_HASHED);
    let (mut hash, mut bytes, mut chunk) = (Sha256::new(), 0, vec![0; 16 << 10]);
    loop {
        match content.read(&mut chunk)? {
            0 => return Ok((bytes, hexadecimal(&hash.finalize()))),
            count => {
                hash.update(&chunk[..count]);
                bytes += count as u64;
            }
        }
    }
}

/// Returns the SHA-256 of a text, in lower-case hexadecimal.
pub fn sha256_of(text: &str) -> String {
    hexadecimal(&Sha256::digest(text))
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
