//! The hash by which a page names the only script that a browser may run in it: SHA-256 (FIPS 180-4) in Base64.

const FIRST: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The hash of a text, as a policy of a page spells it.
pub(super) fn hash(text: &str) -> String {
    base64(&sha256(text.as_bytes()))
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut message = bytes.to_vec();
    message.push(0x80);
    while message.len() % 64 != 56 {
        message.push(0);
    }
    message.extend((bytes.len() as u64 * 8).to_be_bytes());
    let rounds = round_constants();
    let mut state = FIRST;
    for block in message.chunks_exact(64) {
        compress(&mut state, block, &rounds);
    }
    let mut out = [0; 32];
    for (place, word) in out.chunks_exact_mut(4).zip(state) {
        place.copy_from_slice(&word.to_be_bytes());
    }
    out
}

/// The first 32 bits behind the point of the cube roots of the first 64 primes.
fn round_constants() -> [u32; 64] {
    let is_prime =
        |it: &u128| (2..*it).take_while(|factor| factor * factor <= *it).all(|factor| !it.is_multiple_of(factor));
    let mut primes = (2u128..).filter(is_prime);
    std::array::from_fn(|_| {
        let cube = primes.next().unwrap_or(2) << 96;
        let mut root = 0u128;
        for bit in (0..36).rev() {
            let more = root | 1 << bit;
            if more * more * more <= cube {
                root = more;
            }
        }
        (root & 0xffff_ffff) as u32
    })
}

#[allow(clippy::many_single_char_names, reason = "the standard calls them so")]
fn compress(state: &mut [u32; 8], block: &[u8], rounds: &[u32; 64]) {
    let mut schedule = [0u32; 64];
    for (idx, word) in block.chunks_exact(4).enumerate() {
        schedule[idx] = u32::from_be_bytes([word[0], word[1], word[2], word[3]]);
    }
    for idx in 16..64 {
        let (near, far) = (schedule[idx - 2], schedule[idx - 15]);
        let near = near.rotate_right(17) ^ near.rotate_right(19) ^ near >> 10;
        let far = far.rotate_right(7) ^ far.rotate_right(18) ^ far >> 3;
        schedule[idx] = schedule[idx - 16].wrapping_add(far).wrapping_add(schedule[idx - 7]).wrapping_add(near);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (constant, word) in rounds.iter().zip(schedule) {
        let mixed = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let chosen = e & f ^ !e & g;
        let one = h.wrapping_add(mixed).wrapping_add(chosen).wrapping_add(*constant).wrapping_add(word);
        let mixed = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let two = mixed.wrapping_add(a & b ^ a & c ^ b & c);
        (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(one), c, b, a, one.wrapping_add(two));
    }
    for (word, more) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *word = word.wrapping_add(more);
    }
}

fn base64(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
            out.push(if place <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_standard() {
        let cases = [
            ("", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="),
            ("abc", "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "JI1qYdIGOLjlwCaTDD5gOaM85Flk/yFn9uzt1BnbBsE=",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(hash(text), expected, "{text}");
        }
    }
}
