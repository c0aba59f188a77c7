//! The dictionary of SPDY.

use portforward::spdy::dictionary::ID;
use portforward::spdy::dictionary::dictionary;

#[test]
fn the_dictionary_is_that_of_spdy_3() {
    let (mut low, mut high) = (1_u32, 0_u32);
    for byte in dictionary() {
        low = (low + u32::from(byte)) % 65_521;
        high = (high + low) % 65_521;
    }
    assert_eq!((dictionary().len(), high << 16 | low), (1423, ID));
}
