//! What is done next with a computer. Pure.

use std::fmt;

use crate::computer::{Computer, Power};

/// What shall be in the virtual drive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Media {
    /// Whatever is.
    #[default]
    AsItIs,
    /// Nothing.
    Empty,
    /// The image at an address.
    Image(String),
}

/// What shall be booted next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NextBoot {
    /// Whatever is.
    #[default]
    AsItIs,
    /// The virtual drive, once, and now.
    Drive,
    /// What the firmware chooses.
    Usual,
}

/// How a computer shall be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// What is in its drive.
    pub media: Media,
    /// What it boots.
    pub boot: NextBoot,
    /// Whether it is on; none for whatever is.
    pub is_on: Option<bool>,
}

/// Something that a controller is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Take out what is in the drive.
    Eject,
    /// Put an image in.
    Insert(String),
    /// Boot from the drive, once.
    BootDrive,
    /// Boot what the firmware chooses.
    BootUsual,
    /// Turn it on.
    TurnOn,
    /// Turn it off, gently first.
    TurnOff,
    /// Start it again.
    Restart,
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Eject => "eject the virtual media",
            Self::Insert(_) => "insert the image as virtual media",
            Self::BootDrive => "boot once from the virtual media",
            Self::BootUsual => "boot as usual",
            Self::TurnOn => "turn the host on",
            Self::TurnOff => "turn the host off",
            Self::Restart => "restart the host",
        })
    }
}

/// Whether two addresses name the same image. Controllers that do not say what is in the drive are believed that it is
/// the right one.
fn is_same(shown: Option<&str>, wanted: &str) -> bool {
    shown.is_none_or(|shown| shown == wanted)
}

/// The next step, or none when all is as wanted. `done` are the steps of this attempt.
pub fn next(found: &Computer, wanted: &Wanted, done: &[Step]) -> Option<Step> {
    let drive = found.drive.as_ref();
    let is_full = drive.is_some_and(|drive| drive.is_inserted);
    match &wanted.media {
        Media::Empty if is_full => return Some(Step::Eject),
        Media::Image(image) => {
            if is_full && !is_same(drive.and_then(|drive| drive.image.as_deref()), image) {
                return Some(Step::Eject);
            }
            if !is_full {
                return Some(Step::Insert(image.clone()));
            }
        }
        Media::Empty | Media::AsItIs => {}
    }
    let boots_drive = found.boot.target == "Cd" && matches!(found.boot.enabled.as_str(), "Once" | "Continuous");
    let has_booted = done.iter().any(|step| matches!(step, Step::Restart | Step::TurnOn));
    match wanted.boot {
        // What is for one boot only may be gone as soon as that boot began.
        NextBoot::Drive if !boots_drive && !has_booted => return Some(Step::BootDrive),
        NextBoot::Usual if boots_drive => return Some(Step::BootUsual),
        _ => {}
    }
    match (wanted.is_on, &found.power) {
        (Some(true), Power::Off) => Some(Step::TurnOn),
        (Some(false), Power::On) => Some(Step::TurnOff),
        (Some(true), Power::On) if wanted.boot == NextBoot::Drive && !has_booted => Some(Step::Restart),
        _ => None,
    }
}

/// Whether a step can be seen to be done.
pub(crate) fn is_done(step: &Step, found: &Computer) -> bool {
    let drive = found.drive.as_ref();
    match step {
        Step::Eject => drive.is_none_or(|drive| !drive.is_inserted),
        Step::Insert(image) => drive.is_some_and(|drive| drive.is_inserted && is_same(drive.image.as_deref(), image)),
        Step::BootDrive => found.boot.target == "Cd" && found.boot.enabled != "Disabled",
        Step::BootUsual => found.boot.target != "Cd" || found.boot.enabled == "Disabled",
        Step::TurnOn | Step::Restart => found.power == Power::On,
        Step::TurnOff => found.power == Power::Off,
    }
}

/// How a computer is instead, for a step that was not done.
pub(crate) fn instead(step: &Step, found: &Computer) -> String {
    let drive = found.drive.as_ref();
    let shown = drive.and_then(|drive| drive.image.as_deref()).map(without_token);
    match (step, shown) {
        (Step::Insert(_), Some(other)) => format!("the drive holds {other}"),
        (Step::Insert(_), None) => "the drive is empty".to_owned(),
        (Step::Eject, Some(image)) => format!("the drive still holds {image}"),
        (Step::Eject, None) => "the drive is still full".to_owned(),
        (Step::BootDrive | Step::BootUsual, _) => {
            format!("it would boot {} ({})", found.boot.target, found.boot.enabled)
        }
        (Step::TurnOn | Step::TurnOff | Step::Restart, _) => format!("the power is {}", found.power.text()),
    }
}

/// An image's address without what lets one download it.
fn without_token(address: &str) -> String {
    let plain = address.split('?').next().unwrap_or_default();
    match plain.split_once("/byapikey/") {
        Some((base, rest)) => format!("{base}/byapikey/…/{}", rest.split_once('/').map_or("", |(_, rest)| rest)),
        None => plain.chars().take(200).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::computer::{Boot, Drive, Hardware};

    fn computer(power: Power, image: Option<&str>) -> Computer {
        Computer {
            path: "/redfish/v1/Systems/1".to_owned(),
            power,
            boot: Boot { target: "None".to_owned(), enabled: "Disabled".to_owned() },
            drive: Some(Drive {
                path: "/redfish/v1/Systems/1/VirtualMedia/Cd".to_owned(),
                image: image.map(str::to_owned),
                is_inserted: image.is_some(),
                insert: None,
                eject: None,
            }),
            hardware: Hardware::default(),
            reset: String::new(),
            resets: Vec::new(),
            boots: Vec::new(),
        }
    }

    /// What a good controller would be after a step.
    fn obey(found: &mut Computer, step: &Step) {
        let drive = found.drive.as_mut().expect("a drive");
        match step {
            Step::Eject => (drive.image, drive.is_inserted) = (None, false),
            Step::Insert(image) => (drive.image, drive.is_inserted) = (Some(image.clone()), true),
            Step::BootDrive => found.boot = Boot { target: "Cd".to_owned(), enabled: "Once".to_owned() },
            Step::BootUsual => found.boot = Boot { target: "None".to_owned(), enabled: "Disabled".to_owned() },
            Step::TurnOn | Step::Restart => {
                found.power = Power::On;
                found.boot = Boot { target: "None".to_owned(), enabled: "Disabled".to_owned() };
            }
            Step::TurnOff => found.power = Power::Off,
        }
    }

    fn all(found: &mut Computer, wanted: &Wanted) -> Vec<Step> {
        let mut done = Vec::new();
        while let Some(step) = next(found, wanted, &done) {
            obey(found, &step);
            assert!(is_done(&step, found), "{step}");
            done.push(step);
            assert!(done.len() < 8, "{done:?}");
        }
        done
    }

    #[test]
    fn a_computer_is_started_from_an_image() {
        let image = || "http://h/a.iso".to_owned();
        let wanted = Wanted { media: Media::Image(image()), boot: NextBoot::Drive, is_on: Some(true) };
        let first = [Step::Insert(image()), Step::BootDrive];
        assert_eq!(all(&mut computer(Power::Off, None), &wanted), [&first[..], &[Step::TurnOn]].concat());
        assert_eq!(all(&mut computer(Power::On, None), &wanted), [&first[..], &[Step::Restart]].concat());
        let other = all(&mut computer(Power::On, Some("http://h/b.iso")), &wanted);
        assert_eq!(other, [&[Step::Eject], &first[..], &[Step::Restart]].concat());
    }

    #[test]
    fn an_installed_computer_boots_as_usual_and_has_an_empty_drive() {
        let wanted = Wanted { media: Media::Empty, boot: NextBoot::Usual, is_on: Some(true) };
        let mut found = computer(Power::On, Some("http://h/a.iso"));
        found.boot = Boot { target: "Cd".to_owned(), enabled: "Continuous".to_owned() };
        assert_eq!(all(&mut found, &wanted), [Step::Eject, Step::BootUsual]);
        assert!(all(&mut found, &wanted).is_empty());
    }

    #[test]
    fn a_token_is_not_shown() {
        let mut found = computer(Power::On, Some("https://h/byapikey/SECRET/4.14/x86_64/full.iso?api_key=SECRET"));
        let words = instead(&Step::Eject, &found);
        assert!(!words.contains("SECRET") && words.contains("full.iso"), "{words}");
        found.drive = None;
        assert_eq!(instead(&Step::Insert(String::new()), &found), "the drive is empty");
    }
}
