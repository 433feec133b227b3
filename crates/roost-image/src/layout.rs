//! An image as a list of segments: ranges of files, and bytes of our own.

use std::ops::Range;

use bytes::Bytes;

/// One piece of an image. `F` says which file; whoever serves the image knows how to open it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment<F> {
    /// A range of a file.
    File {
        /// Which file.
        file: F,
        /// Its first byte.
        offset: u64,
        /// How many bytes.
        length: u64,
    },
    /// Bytes that are in no file.
    Bytes(Bytes),
}

impl<F> Segment<F> {
    /// How long it is.
    pub fn length(&self) -> u64 {
        match self {
            Self::File { length, .. } => *length,
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }
}

impl<F: Clone> Segment<F> {
    /// The part between two offsets within the segment.
    fn cut(&self, part: Range<u64>) -> Self {
        match self {
            Self::File { file, offset, .. } => {
                Self::File { file: file.clone(), offset: offset + part.start, length: part.end - part.start }
            }
            Self::Bytes(bytes) => Self::Bytes(bytes.slice(part.start as usize..part.end as usize)),
        }
    }
}

/// Why segments do not make an image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// A patch begins or ends outside of the file.
    #[error("{length} bytes at {offset} do not lie within the image")]
    Outside {
        /// Where the patch begins.
        offset: u64,
        /// How long it is.
        length: u64,
    },
    /// Two patches want the same byte.
    #[error("two changes overlap at byte {0}")]
    Overlap(u64),
}

/// The bytes of an image, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout<F> {
    segments: Vec<Segment<F>>,
    /// Where each segment begins in the image.
    starts: Vec<u64>,
    length: u64,
}

impl<F> Default for Layout<F> {
    fn default() -> Self {
        Self { segments: Vec::new(), starts: Vec::new(), length: 0 }
    }
}

impl<F: Clone> Layout<F> {
    /// A whole file with some of its bytes replaced; it stays as long as it is.
    pub fn overlay(file: F, length: u64, mut patches: Vec<(u64, Bytes)>) -> Result<Self, LayoutError> {
        patches.retain(|(_, bytes)| !bytes.is_empty());
        patches.sort_by_key(|(offset, _)| *offset);
        let mut layout = Self::default();
        for (offset, bytes) in patches {
            let size = bytes.len() as u64;
            if offset.checked_add(size).is_none_or(|end| end > length) {
                return Err(LayoutError::Outside { offset, length: size });
            }
            if offset < layout.length {
                return Err(LayoutError::Overlap(offset));
            }
            layout.push(Segment::File { file: file.clone(), offset: layout.length, length: offset - layout.length });
            layout.push(Segment::Bytes(bytes));
        }
        layout.push(Segment::File { file, offset: layout.length, length: length - layout.length });
        Ok(layout)
    }

    /// Adds a segment at the end; an empty one is left out.
    pub fn push(&mut self, segment: Segment<F>) {
        let length = segment.length();
        if length > 0 {
            self.starts.push(self.length);
            self.segments.push(segment);
            self.length += length;
        }
    }

    /// How many bytes the image has.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Everything, in order.
    pub fn segments(&self) -> &[Segment<F>] {
        &self.segments
    }

    /// What lies between two offsets, in order. What is beyond the end does not exist.
    pub fn range(&self, wanted: Range<u64>) -> impl Iterator<Item = Segment<F>> {
        let (start, end) = (wanted.start, wanted.end.min(self.length));
        let first = self.starts.partition_point(|begin| *begin <= start).saturating_sub(1);
        self.segments.iter().zip(&self.starts).skip(first).take_while(move |(_, begin)| **begin < end).filter_map(
            move |(segment, begin)| {
                let from = start.saturating_sub(*begin);
                let to = segment.length().min(end - begin);
                (from < to).then(|| segment.cut(from..to))
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use proptest::prelude::*;

    use super::{Layout, LayoutError, Segment};

    fn joined(file: &[u8], segments: impl Iterator<Item = Segment<()>>) -> Vec<u8> {
        let mut all = Vec::new();
        for segment in segments {
            match segment {
                Segment::File { offset, length, .. } => {
                    all.extend_from_slice(&file[offset as usize..(offset + length) as usize]);
                }
                Segment::Bytes(bytes) => all.extend_from_slice(&bytes),
            }
        }
        all
    }

    proptest! {
        #[test]
        fn any_range_is_that_slice_of_the_whole(
            file in proptest::collection::vec(any::<u8>(), 0..200),
            patches in proptest::collection::vec((0_u64..220, proptest::collection::vec(any::<u8>(), 0..20)), 0..6),
            start in 0_u64..240,
            end in 0_u64..240,
        ) {
            let mut expected = file.clone();
            let mut touched = vec![false; file.len()];
            let mut fits = true;
            for (offset, bytes) in &patches {
                for (index, byte) in bytes.iter().enumerate() {
                    let at = *offset as usize + index;
                    if at >= file.len() || touched[at] {
                        fits = false;
                    } else {
                        touched[at] = true;
                        expected[at] = *byte;
                    }
                }
            }
            let patches = patches.into_iter().map(|(offset, bytes)| (offset, Bytes::from(bytes))).collect();
            let layout = Layout::overlay((), file.len() as u64, patches);
            prop_assert_eq!(layout.is_ok(), fits);
            if let Ok(layout) = layout {
                prop_assert_eq!(layout.length(), file.len() as u64);
                prop_assert_eq!(&joined(&file, layout.segments().iter().cloned()), &expected);
                let from = (start as usize).min(expected.len());
                let to = (end as usize).clamp(from, expected.len());
                prop_assert_eq!(&joined(&file, layout.range(start..end)), &expected[from..to]);
            }
        }
    }

    #[test]
    fn patches_stay_inside_and_apart() {
        let patch = |offset, length| (offset, Bytes::from(vec![1; length]));
        assert_eq!(Layout::overlay((), 10, vec![patch(8, 3)]), Err(LayoutError::Outside { offset: 8, length: 3 }));
        assert_eq!(
            Layout::overlay((), 10, vec![patch(u64::MAX, 3)]),
            Err(LayoutError::Outside { offset: u64::MAX, length: 3 })
        );
        assert_eq!(Layout::overlay((), 10, vec![patch(4, 2), patch(2, 3)]), Err(LayoutError::Overlap(4)));
    }

    #[test]
    fn the_whole_of_nothing_is_nothing() {
        let layout = Layout::<()>::default();
        assert_eq!(layout.range(0..u64::MAX).count(), 0);
    }
}
