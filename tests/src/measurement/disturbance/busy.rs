//! Somebody who does all that is allowed, as fast as it goes.

use std::time::Duration;

use http::Method;

use super::Disturber;
use crate::client::{Call, Client};
use crate::measurement::{OBJECT_BYTES, collection, object};

/// Clients of each kind that send at once.
const CLIENTS: usize = 16;

/// Objects that each writing client makes and changes.
const OBJECTS: u64 = 100;

pub(super) fn work(client: &Client, disturber: &mut Disturber) {
    let filling = "z".repeat(OBJECT_BYTES);
    for worker in 0..CLIENTS {
        let (writer, filling) = (client.with_own_connections(), filling.clone());
        disturber.add(Duration::ZERO, move |count| {
            let name = format!("busy-{worker}-{}", count % OBJECTS);
            let body = object(&name, &format!("{count}{filling}"));
            let call = match count {
                0..OBJECTS => Call::new(Method::POST, collection()).json(&body),
                _ => Call::new(Method::PUT, format!("{}/{name}", collection())).json(&body),
            };
            let writer = writer.clone();
            async move { writer.send(call).await }
        });
        let reader = client.with_own_connections();
        disturber.add(Duration::ZERO, move |count| {
            let target = match count % 100 {
                0 => collection(),
                _ => format!("{}/busy-{worker}-0", collection()),
            };
            let reader = reader.clone();
            async move { reader.send(Call::get(target)).await }
        });
    }
}
