//! The life of a computer as its management controller sees it: started from an image, installed, off. `cargo xtask redfish`
//! runs it against an emulator; it does the same to any controller that is named, so name none that is in use.
//!
//! Arguments: the address as BareMetalHosts write it, user name, password, and the address of an image.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use roost_pki::Secret;
use roost_redfish::{Address, Controller, Credentials, Media, NextBoot, Patience, Verification, Wanted};

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, username, password, image] = arguments.as_slice() else {
        eprintln!("error: wanted are an address, a user name, a password and the address of an image");
        return ExitCode::FAILURE;
    };
    match run(address, username, password, image).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(address: &str, username: &str, password: &str, image: &str) -> Result<(), Box<dyn std::error::Error>> {
    let controller = |password: &str| {
        let credentials = Credentials { username: username.to_owned(), password: Secret::new(password.to_owned()) };
        let patience = Patience { look: Duration::from_millis(200), ..Patience::default() };
        Controller::new(Address::parse(address)?, &credentials, &Verification::Nobody, patience)
            .map_err(Box::<dyn std::error::Error>::from)
    };
    match controller("not the password")?.inspect().await {
        Err(error) if error.is_about_credentials() => println!("a wrong password is refused: {error}"),
        outcome => return Err(format!("a wrong password was taken: {outcome:?}").into()),
    }
    let controller = controller(password)?;
    let steps = [
        ("off at first", Wanted { is_on: Some(false), media: Media::Empty, boot: NextBoot::Usual }),
        (
            "started from the image",
            Wanted { media: Media::Image(image.to_owned()), boot: NextBoot::Drive, is_on: Some(true) },
        ),
        ("registered", Wanted { boot: NextBoot::Usual, is_on: Some(true), ..Wanted::default() }),
        ("installed", Wanted { media: Media::Empty, boot: NextBoot::Usual, is_on: Some(true) }),
        (
            "started from another image",
            Wanted { media: Media::Image(format!("{image}?2")), boot: NextBoot::Drive, is_on: Some(true) },
        ),
        ("gone", Wanted { media: Media::Empty, boot: NextBoot::Usual, is_on: Some(false) }),
    ];
    for (name, wanted) in steps {
        let started = Instant::now();
        let outcome = controller.carry_out(&wanted).await;
        if let Some(problem) = outcome.problem {
            return Err(format!("{name}: {problem}").into());
        }
        let done: Vec<String> = outcome.done.iter().map(ToString::to_string).collect();
        println!(
            "{name}: {} ({:.1} s)",
            if done.is_empty() { "as it is".to_owned() } else { done.join(", ") },
            started.elapsed().as_secs_f64()
        );
        let again = controller.carry_out(&Wanted { boot: NextBoot::AsItIs, ..wanted }).await;
        if !again.done.is_empty() || again.problem.is_some() {
            return Err(format!("{name}: it did not stay so: {again:?}").into());
        }
    }
    Ok(())
}
