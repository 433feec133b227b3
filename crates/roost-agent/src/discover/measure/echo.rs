//! Echo requests and their answers, as bytes. Pure.

use std::net::IpAddr;

/// What is sent with a request, so that answers to others are told from ours: a mark, and which request it was.
const PAYLOAD: usize = 8 + 4;
const HEAD: usize = 8;

/// An echo request to an address.
pub(super) fn request(to: IpAddr, mark: u64, number: u32) -> Vec<u8> {
    let kind = if to.is_ipv4() { 8 } else { 128 };
    let [_, _, high, low] = number.to_be_bytes();
    let [first, second, ..] = mark.to_be_bytes();
    let mut bytes = vec![kind, 0, 0, 0, first, second, high, low];
    bytes.extend_from_slice(&mark.to_be_bytes());
    bytes.extend_from_slice(&number.to_be_bytes());
    if to.is_ipv4() {
        // The kernel fills in that of the other family.
        let sum = checksum(&bytes).to_be_bytes();
        bytes[2..4].copy_from_slice(&sum);
    }
    bytes
}

/// Which request a packet answers; none when it is of somebody else.
pub(super) fn answer(packet: &[u8], is_v4: bool, mark: u64) -> Option<u32> {
    // Only packets of the older family come with the head of their envelope.
    let skipped = if is_v4 { usize::from(packet.first()? & 0x0f) * 4 } else { 0 };
    let message = packet.get(skipped..)?;
    let wanted = if is_v4 { 0 } else { 129 };
    let payload = message.get(HEAD..HEAD + PAYLOAD).filter(|_| message[0] == wanted && message[1] == 0)?;
    let (shown, number) = payload.split_at(8);
    (shown == mark.to_be_bytes()).then(|| u32::from_be_bytes(number.try_into().unwrap_or_default()))
}

fn checksum(bytes: &[u8]) -> u16 {
    let words =
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or_default()));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    #[test]
    fn an_answer_belongs_to_its_request() {
        let mark = 0x0102_0304_0506_0708;
        let mut sent = request(IpAddr::V4(Ipv4Addr::LOCALHOST), mark, 77);
        assert_eq!(checksum(&sent), 0, "a sum over all of it, the sum included, is nothing");
        assert_eq!(answer(&sent, false, mark), None, "a request is no answer");
        sent[0] = 0;
        let mut packet = vec![0x46; 24];
        packet.extend_from_slice(&sent);
        assert_eq!(answer(&packet, true, mark), Some(77));
        assert_eq!(answer(&packet, true, mark + 1), None);
        let mut sent = request(IpAddr::V6(Ipv6Addr::LOCALHOST), mark, 78);
        sent[0] = 129;
        assert_eq!(answer(&sent, false, mark), Some(78));
        for length in 0..sent.len() {
            assert_eq!(answer(&sent[..length], false, mark), None);
            assert_eq!(answer(&packet[..length], true, mark), None);
        }
    }
}
