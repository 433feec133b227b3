//! Management controllers over real sockets: good ones, and those that are slow, odd or lie.

mod fake;

use std::time::Duration;

use fake::{Fake, Mood};
use roost_pki::Secret;
use roost_redfish::{
    Address, Controller, Credentials, Media, NextBoot, Patience, RedfishError, Step, Verification, Wanted,
};

const IMAGE: &str = "http://192.0.2.9/byapikey/SECRET/live/x86_64/minimal.iso";

fn controller(fake: &Fake) -> Controller {
    patient(fake, Duration::from_secs(20))
}

fn patient(fake: &Fake, answer: Duration) -> Controller {
    let address = Address::parse(&format!("redfish-virtualmedia+http://{}/redfish/v1/Systems/1", fake.address))
        .expect("it is good");
    let credentials = Credentials { username: "root".to_owned(), password: Secret::new("calvin".to_owned()) };
    let patience = Patience { answer, change: Duration::from_millis(1200), look: Duration::from_millis(20) };
    Controller::new(address, &credentials, &Verification::Nobody, patience).expect("it is good")
}

fn from_image() -> Wanted {
    Wanted { media: Media::Image(IMAGE.to_owned()), boot: NextBoot::Drive, is_on: Some(true) }
}

fn installed() -> Wanted {
    Wanted { media: Media::Empty, boot: NextBoot::Usual, is_on: Some(true) }
}

#[tokio::test]
async fn a_computer_is_started_from_an_image_and_later_from_its_disk() {
    for mood in [
        Mood::Good,
        Mood::MediaOfManager,
        Mood::WantsVersions,
        Mood::Redirects,
        Mood::Plain,
        Mood::Late,
        Mood::KeepsBoot,
        Mood::KnowsDevicesOnly,
    ] {
        let fake = Fake::start(mood).await;
        let controller = controller(&fake);
        let outcome = controller.carry_out(&from_image()).await;
        assert!(outcome.problem.is_none(), "{mood:?}: {:?}", outcome.problem);
        assert_eq!(outcome.done, [Step::Insert(IMAGE.to_owned()), Step::BootDrive, Step::TurnOn], "{mood:?}");
        assert_eq!(outcome.is_on(), Some(true));
        assert_eq!(fake.boots(), ["Cd"], "{mood:?}");
        let hardware = outcome.computer.expect("it was read").hardware;
        assert_eq!((hardware.manufacturer.as_str(), hardware.mebibytes, hardware.processors), ("Contoso", 98_304, 16));
        assert_eq!(hardware.cards, ["52:54:00:aa:00:01"]);
        let outcome = controller.carry_out(&installed()).await;
        assert!(outcome.problem.is_none() && outcome.done.contains(&Step::Eject), "{mood:?}: {outcome:?}");
        let keeps = matches!(mood, Mood::KeepsBoot | Mood::KnowsDevicesOnly);
        assert_eq!(outcome.done.contains(&Step::BootUsual), keeps, "{mood:?}");
        assert!(controller.carry_out(&installed()).await.done.is_empty(), "{mood:?}: all is as wanted");
    }
}

#[tokio::test]
async fn a_computer_that_runs_is_started_again_and_one_that_is_not_wanted_is_turned_off() {
    let fake = Fake::start(Mood::Good).await;
    fake.set_power(true);
    let controller = controller(&fake);
    let outcome = controller.carry_out(&from_image()).await;
    assert_eq!(outcome.done.last(), Some(&Step::Restart), "{outcome:?}");
    assert_eq!(fake.boots(), ["Cd"]);
    let off = Wanted { is_on: Some(false), media: Media::Empty, ..Wanted::default() };
    let outcome = controller.carry_out(&off).await;
    assert_eq!((outcome.done, outcome.problem.is_none()), (vec![Step::Eject, Step::TurnOff], true));
    fake.set_mood(Mood::DeafSystem);
    fake.set_power(true);
    let outcome = controller.carry_out(&off).await;
    assert_eq!(outcome.done, [Step::TurnOff], "{outcome:?}");
    assert!(
        fake.asked().iter().any(|line| line.contains("ForceOff")),
        "a system that does not listen is turned off hard"
    );
}

#[tokio::test]
async fn another_image_is_taken_out_first() {
    let fake = Fake::start(Mood::Good).await;
    fake.insert("http://192.0.2.9/other.iso");
    let outcome = controller(&fake).carry_out(&from_image()).await;
    assert_eq!(outcome.done[..2], [Step::Eject, Step::Insert(IMAGE.to_owned())]);
}

#[tokio::test]
async fn what_controllers_do_wrong_is_named() {
    for (mood, words) in [
        (Mood::Stalls, "did not answer GET /redfish/v1/Systems/1 within"),
        (Mood::Unauthorized, "refuses the user name and password"),
        (Mood::Fails, "with 500: the flux is out of order"),
        (Mood::Drops, "broke off its answer"),
        (Mood::Garbage, "is not Redfish"),
        (Mood::Huge, "broke off its answer"),
        (Mood::IgnoresMedia, "accepted to insert the image as virtual media but"),
        (Mood::WrongMedia, "the drive holds http://192.0.2.9/wrong.iso"),
        (Mood::IgnoresBoot, "accepted to boot once from the virtual media but"),
        (Mood::IgnoresPower, "accepted to turn the host on but"),
        (Mood::NoMedia, "no virtual drive for discs"),
        (Mood::RefusesImage, "with 400: the image cannot be fetched"),
    ] {
        let fake = Fake::start(mood).await;
        // Only one of them is meant to be too slow.
        let answer = if mood == Mood::Stalls { Duration::from_millis(500) } else { Duration::from_secs(20) };
        let outcome = patient(&fake, answer).carry_out(&from_image()).await;
        let problem = outcome.problem.map(|problem| problem.to_string()).unwrap_or_default();
        assert!(problem.contains(words), "{mood:?}: {problem}");
        assert!(!problem.contains("SECRET") && !problem.contains("calvin"), "{mood:?}: {problem}");
    }
}

#[tokio::test]
async fn nobody_there_and_certificates_that_nobody_vouches_for_are_named() {
    let credentials = Credentials { username: "root".to_owned(), password: Secret::new("calvin".to_owned()) };
    assert!(!format!("{credentials:?}").contains("calvin"));
    let gone = Address::parse("redfish+http://127.0.0.1:1/redfish/v1/Systems/1").expect("it is good");
    let controller =
        Controller::new(gone, &credentials, &Verification::Nobody, Patience::default()).expect("it is good");
    assert!(matches!(controller.inspect().await, Err(RedfishError::Connect { .. })));
    let fake = Fake::start_with_tls().await;
    let secure = Address::parse(&format!("redfish://{}/redfish/v1/Systems/1", fake.address)).expect("it is good");
    let strict = Verification::Authorities(String::new());
    let controller = |verification: &Verification| {
        Controller::new(secure.clone(), &credentials, verification, Patience::default()).expect("it is good")
    };
    let problem = controller(&strict).inspect().await.unwrap_err();
    assert!(problem.to_string().contains("disableCertificateVerification"), "{problem}");
    assert!(controller(&Verification::Nobody).inspect().await.is_ok());
    assert!(controller(&Verification::Authorities(fake.authority.clone())).inspect().await.is_ok());
}
