//! `derivePassword`, which is the algorithm Master Password, and `decryptAES`.

use std::num::NonZeroU32;

use aes::cipher::{BlockCipherDecrypt, KeyInit};
use ring::{hmac, pbkdf2};

use super::{Arguments, Function, Parameter, encoding, function};
use crate::error::Outcome;
use crate::limits;
use crate::values::{Value, Work};
use Parameter::{Text, Uint32};

pub(super) const FUNCTIONS: &[Function] = &[
    function("derivePassword", &[Uint32, Text, Text, Text, Text], derive_password),
    function("decryptAES", &[Text, Text], |work, a| {
        let text = decrypt(a.text(0), a.text(1))?;
        work.text(text)
    }),
];

const SEED: &[u8] = b"com.lyndir.masterpassword";

/// The shapes of each type of password. A letter stands for a set of characters ([`characters`]).
fn shapes(kind: &[u8]) -> Option<&'static [&'static str]> {
    Some(match kind {
        b"maximum" => &["anoxxxxxxxxxxxxxxxxx", "axxxxxxxxxxxxxxxxxno"],
        b"long" => &[
            "CvcvnoCvcvCvcv",
            "CvcvCvcvnoCvcv",
            "CvcvCvcvCvcvno",
            "CvccnoCvcvCvcv",
            "CvccCvcvnoCvcv",
            "CvccCvcvCvcvno",
            "CvcvnoCvccCvcv",
            "CvcvCvccnoCvcv",
            "CvcvCvccCvcvno",
            "CvcvnoCvcvCvcc",
            "CvcvCvcvnoCvcc",
            "CvcvCvcvCvccno",
            "CvccnoCvccCvcv",
            "CvccCvccnoCvcv",
            "CvccCvccCvcvno",
            "CvcvnoCvccCvcc",
            "CvcvCvccnoCvcc",
            "CvcvCvccCvccno",
            "CvccnoCvcvCvcc",
            "CvccCvcvnoCvcc",
            "CvccCvcvCvccno",
        ],
        b"medium" => &["CvcnoCvc", "CvcCvcno"],
        b"short" => &["Cvcn"],
        b"basic" => &["aaanaaan", "aannaaan", "aaannaaa"],
        b"pin" => &["nnnn"],
        _ => return None,
    })
}

fn characters(class: char) -> &'static [u8] {
    match class {
        'V' => b"AEIOU",
        'C' => b"BCDFGHJKLMNPQRSTVWXYZ",
        'v' => b"aeiou",
        'c' => b"bcdfghjklmnpqrstvwxyz",
        'a' => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz",
        'n' => b"0123456789",
        'o' => b"@&%?,=[]_:-+*$#!'^~;()/.",
        _ => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz0123456789!@#$%^&*()",
    }
}

fn derive_password(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    let counter = a.value(0).unsigned().unwrap_or_default() as u32;
    let (password, user, site) = (a.text(2), a.text(3), a.text(4));
    let Some(shapes) = shapes(a.text(1)) else {
        return work.text(format!("cannot find password template {}", a.characters(1)));
    };
    work.steps(limits::DERIVATION_STEPS as usize)?;
    let length = |text: &[u8]| (text.len() as u32).to_be_bytes();
    let salt = [SEED, &length(user), user].concat();
    let key = scrypt(password, &salt);
    let message = [SEED, &length(site), site, &counter.to_be_bytes()].concat();
    let seed = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), &message);
    let seed = seed.as_ref();
    let shape = shapes[usize::from(seed[0]) % shapes.len()];
    let password: Vec<u8> = shape
        .chars()
        .zip(&seed[1..])
        .map(|(class, byte)| characters(class)[usize::from(*byte) % characters(class).len()])
        .collect();
    work.text(password)
}

/// scrypt (RFC 7914) with N = 32768, r = 8, p = 2 and 64 bytes of output, which takes 32 MiB.
fn scrypt(password: &[u8], salt: &[u8]) -> [u8; 64] {
    const BLOCK: usize = 128 * 8;
    let mut blocks = [0; 2 * BLOCK];
    stretch(password, salt, &mut blocks);
    let mut table = vec![[0u32; BLOCK / 4]; 32768];
    for block in blocks.chunks_exact_mut(BLOCK) {
        let mut words = [0u32; BLOCK / 4];
        for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
            *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        mix(&mut words, &mut table);
        for (word, bytes) in words.iter().zip(block.chunks_exact_mut(4)) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }
    let mut key = [0; 64];
    stretch(password, &blocks, &mut key);
    key
}

fn stretch(password: &[u8], salt: &[u8], output: &mut [u8]) {
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, NonZeroU32::MIN, salt, password, output);
}

fn mix(block: &mut [u32; 256], table: &mut [[u32; 256]]) {
    for row in table.iter_mut() {
        *row = *block;
        *block = mix_block(block);
    }
    for _ in 0..table.len() {
        let row = &table[block[240] as usize % table.len()];
        for (word, other) in block.iter_mut().zip(row) {
            *word ^= other;
        }
        *block = mix_block(block);
    }
}

/// Sixteen rounds of Salsa20/8. Results with even numbers come first.
fn mix_block(block: &[u32; 256]) -> [u32; 256] {
    let mut output = [0; 256];
    let mut state = [0u32; 16];
    state.copy_from_slice(&block[240..]);
    for (number, part) in block.chunks_exact(16).enumerate() {
        for (word, other) in state.iter_mut().zip(part) {
            *word ^= other;
        }
        salsa(&mut state);
        let place = (number / 2 + number % 2 * 8) * 16;
        output[place..place + 16].copy_from_slice(&state);
    }
    output
}

fn salsa(state: &mut [u32; 16]) {
    let mut x = *state;
    for _ in 0..4 {
        for column in 0..4 {
            quarter(&mut x, [0, 4, 8, 12].map(|row| (row + column * 5) % 16));
        }
        for row in 0..4 {
            quarter(&mut x, [0, 1, 2, 3].map(|column| row * 4 + (column + row) % 4));
        }
    }
    for (word, mixed) in state.iter_mut().zip(x) {
        *word = word.wrapping_add(mixed);
    }
}

fn quarter(x: &mut [u32; 16], [a, b, c, d]: [usize; 4]) {
    x[b] ^= x[a].wrapping_add(x[d]).rotate_left(7);
    x[c] ^= x[b].wrapping_add(x[a]).rotate_left(9);
    x[d] ^= x[c].wrapping_add(x[b]).rotate_left(13);
    x[a] ^= x[d].wrapping_add(x[c]).rotate_left(18);
}

/// AES-256 in CBC mode, after base64. The key is the password, filled up with zeros, and the first block starts the chain.
fn decrypt(password: &[u8], text: &[u8]) -> Outcome<Vec<u8>> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let Ok(bytes) = encoding::base64(text) else { return Err("the text is not base64".into()) };
    if bytes.len() < 32 || bytes.len() % 16 != 0 {
        return Err(format!("{} bytes are not two or more blocks of 16", bytes.len()).into());
    }
    let mut key = [0; 32];
    for (byte, given) in key.iter_mut().zip(password) {
        *byte = *given;
    }
    let cipher = aes::Aes256::new(&key.into());
    let mut output = Vec::with_capacity(bytes.len());
    for (before, block) in bytes.chunks_exact(16).zip(bytes.chunks_exact(16).skip(1)) {
        let mut plain = [0; 16];
        plain.copy_from_slice(block);
        let mut plain = plain.into();
        cipher.decrypt_block(&mut plain);
        output.extend(plain.iter().zip(before).map(|(byte, before)| byte ^ before));
    }
    let padding = usize::from(output.last().copied().unwrap_or_default());
    match output.len().checked_sub(padding) {
        Some(length) => {
            output.truncate(length);
            Ok(output)
        }
        None => Err("the padding is longer than the text: is the password the right one?".into()),
    }
}
