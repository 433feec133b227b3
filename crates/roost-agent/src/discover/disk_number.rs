//! The number of a disk, by which the system on it names its partitions. An image has one; each disk that it is written to
//! gets another, so that two of them in one host are told apart.

/// Where a number is in the first sector.
const PLACE: std::ops::Range<usize> = 440..444;
const SECTOR: usize = 512;

/// Passes an image on, with another number wherever it has its own: in its table, and as `<number>-0` in the names of its
/// partitions.
pub(super) struct Renumber {
    fresh: u32,
    /// The names as they are in the image and as they are to be, once the first sector has come.
    names: Option<([u8; NAME], [u8; NAME])>,
    /// What may be the beginning of something, until more has come.
    held: Vec<u8>,
}

/// Eight digits, a dash, and the first digit of a partition.
const NAME: usize = 10;

impl Renumber {
    /// Gives an image this number.
    pub(super) fn new(fresh: u32) -> Self {
        Self { fresh, names: None, held: Vec::new() }
    }

    /// Takes bytes of the image, and returns those that are done.
    pub(super) fn pass(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        if self.names.is_none() {
            if self.held.len() < SECTOR {
                return Vec::new();
            }
            self.names = Some(self.begin());
        }
        let Some((old, new)) = &self.names else { return Vec::new() };
        let mut place = 0;
        while let Some(found) = find(&self.held[place..], old) {
            place += found;
            self.held[place..place + NAME].copy_from_slice(new);
            place += NAME;
        }
        let done = self.held.len().saturating_sub(NAME - 1).max(place);
        let rest = self.held.split_off(done);
        std::mem::replace(&mut self.held, rest)
    }

    /// What was held back, when nothing more comes.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    /// Puts the number into the table. A table without one is left as it is: nothing names its partitions by it.
    fn begin(&mut self) -> ([u8; NAME], [u8; NAME]) {
        let sector = &mut self.held[..SECTOR];
        let number = sector[PLACE].iter().rev().fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
        let has_number = number != 0 && sector[510..] == [0x55, 0xaa];
        if has_number {
            sector[PLACE].copy_from_slice(&self.fresh.to_le_bytes());
        }
        (name(number), name(if has_number { self.fresh } else { number }))
    }
}

fn name(number: u32) -> [u8; NAME] {
    let mut name = [b'0'; NAME];
    for (digit, place) in name.iter_mut().zip((0..8).rev()) {
        *digit = b"0123456789abcdef"[(number >> (place * 4) & 0xf) as usize];
    }
    name[8] = b'-';
    name
}

fn find(bytes: &[u8], wanted: &[u8; NAME]) -> Option<usize> {
    let mut from = 0;
    loop {
        // A dash is rarer in a system than any digit, and far rarer than nothing at all.
        let start = from + bytes.get(from + 8..)?.iter().position(|byte| *byte == b'-')?;
        if bytes.get(start..start + NAME)? == wanted {
            return Some(start);
        }
        from = start + 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn image(number: u32) -> Vec<u8> {
        let mut image = vec![0; 2048];
        image[PLACE].copy_from_slice(&number.to_le_bytes());
        image[510..512].copy_from_slice(&[0x55, 0xaa]);
        let text =
            format!("root=PARTUUID={number:08x}-02 rw\n/dev/disk/by-partuuid/{number:08x}-01 {number:08x} -----");
        image[1000..1000 + text.len()].copy_from_slice(text.as_bytes());
        image
    }

    fn renumbered(image: &[u8], fresh: u32, lengths: &[usize]) -> Vec<u8> {
        let mut renumber = Renumber::new(fresh);
        let (mut written, mut rest) = (Vec::new(), image);
        for length in lengths.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, more) = rest.split_at((*length).min(rest.len()));
            written.extend(renumber.pass(piece));
            rest = more;
        }
        written.extend(renumber.finish());
        written
    }

    #[test]
    fn a_disk_has_its_own_number_and_all_else_of_the_image() {
        let written = renumbered(&image(0x726f_6f73), 0x0a0b_0c0d, &[4096]);
        assert_eq!(written[PLACE], [0x0d, 0x0c, 0x0b, 0x0a]);
        let text = String::from_utf8_lossy(&written[1000..1100]).into_owned();
        assert!(
            text.starts_with("root=PARTUUID=0a0b0c0d-02 rw\n/dev/disk/by-partuuid/0a0b0c0d-01 726f6f73 -----"),
            "{text}"
        );
        let differs = |(place, (old, new)): (usize, (&u8, &u8))| (old != new).then_some(place);
        let changed = image(0x726f_6f73).iter().zip(&written).enumerate().filter_map(differs).count();
        assert!(changed <= 4 + 8 + 8, "{changed}");
    }

    #[test]
    fn an_image_without_a_number_is_written_as_it_is() {
        for mut image in [image(0), vec![7; 100], Vec::new(), image(0x726f_6f73)] {
            if image.len() > 512 && image[440] != 0 {
                image[510] = 0;
            }
            assert_eq!(renumbered(&image, 0x0a0b_0c0d, &[64]), image);
        }
    }

    proptest! {
        #[test]
        fn it_does_not_matter_in_which_pieces_an_image_comes(
            number in 1_u32.., fresh: u32, lengths in prop::collection::vec(1_usize..700, 1..20)
        ) {
            let image = image(number);
            let whole = renumbered(&image, fresh, &[image.len()]);
            prop_assert_eq!(whole.len(), image.len());
            prop_assert_eq!(renumbered(&image, fresh, &lengths), whole);
        }
    }
}
