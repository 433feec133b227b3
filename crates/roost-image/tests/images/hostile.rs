//! Images that somebody broke: an error, or an image, and never more.

use std::sync::LazyLock;

use proptest::prelude::*;
use roost_image::BaseImage;

use crate::fixture::image;

static IMAGE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut image = image();
    // What comes behind the first files does not decide anything and would only make the search longer.
    image.truncate(60 << 10);
    image
});

proptest! {
    #[test]
    fn broken_images_do_no_harm(
        changes in proptest::collection::vec((32_000_usize..60_000, any::<u8>()), 1..20),
        length in 0_usize..70_000,
    ) {
        let mut broken = IMAGE.clone();
        for (at, byte) in changes {
            broken[at] = byte;
        }
        broken.truncate(length);
        let _ = BaseImage::read(broken.as_slice());
    }

    #[test]
    fn noise_does_no_harm(noise in proptest::collection::vec(any::<u8>(), 2048..8192)) {
        let mut broken = vec![0; 32 << 10];
        broken.extend(noise);
        broken[32_768..32_774].copy_from_slice(b"\x01CD001");
        let _ = BaseImage::read(broken.as_slice());
    }
}
