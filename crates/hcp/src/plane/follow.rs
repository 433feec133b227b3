//! Waiting without sleeping: one object is watched until it is as it should be.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use http::Request;
use kube::core::WatchEvent;
use serde_json::Value;

use super::{Plane, PlaneError, Resource};

/// How long a plane may be away while something is waited for: a restart takes seconds.
const ABSENCE: Duration = Duration::from_mins(1);
/// The pause before a plane that is away is asked again.
const RETRY_PAUSE: Duration = Duration::from_millis(250);

impl Plane {
    /// Shows every state of an object to `decide` until that has seen enough; `None` is an object that is gone.
    ///
    /// `known` is a state that is known already: it is shown first, and what comes after it needs no list.
    pub(crate) async fn follow<T>(
        &self,
        resource: &Resource,
        (namespace, name): (&str, &str),
        known: Option<&Value>,
        mut decide: impl FnMut(Option<&Value>) -> ControlFlow<T>,
    ) -> Result<T, PlaneError> {
        if let Some(known) = known
            && let ControlFlow::Break(value) = decide(Some(known))
        {
            return Ok(value);
        }
        let mut place = known.and_then(|object| object["metadata"]["resourceVersion"].as_str()).map(str::to_owned);
        let mut away_since: Option<Instant> = None;
        loop {
            let outcome = self.follow_once(resource, (namespace, name), place.take(), &mut decide).await;
            match outcome {
                Ok(ControlFlow::Break(value)) => return Ok(value),
                Ok(ControlFlow::Continue(())) => away_since = None,
                Err(error) if error.is_passing() => {
                    let since = *away_since.get_or_insert_with(Instant::now);
                    if since.elapsed() > ABSENCE {
                        return Err(error);
                    }
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn follow_once<T>(
        &self,
        resource: &Resource,
        (namespace, name): (&str, &str),
        place: Option<String>,
        decide: &mut impl FnMut(Option<&Value>) -> ControlFlow<T>,
    ) -> Result<ControlFlow<T>, PlaneError> {
        let collection = format!("{}?fieldSelector=metadata.name%3D{name}", resource.path(namespace, None));
        let place = if let Some(place) = place {
            place
        } else {
            let list = self.send(http::Method::GET, &collection, None, Vec::new()).await?;
            if let ControlFlow::Break(value) = decide(list["items"].get(0)) {
                return Ok(ControlFlow::Break(value));
            }
            list["metadata"]["resourceVersion"].as_str().unwrap_or("0").to_owned()
        };
        let path = format!("{collection}&watch=true&resourceVersion={place}");
        let request = Request::get(&path).body(Vec::new()).map_err(|_| PlaneError::Path(path))?;
        let failed = |error| PlaneError::of(error, &self.server);
        let events = self.client.request_events::<Value>(request).await.map_err(failed)?;
        let mut events = std::pin::pin!(events);
        while let Some(event) = events.next().await {
            let seen = match event.map_err(failed)? {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => decide(Some(&object)),
                WatchEvent::Deleted(_) => decide(None),
                WatchEvent::Bookmark(_) => ControlFlow::Continue(()),
                WatchEvent::Error(status) => return Err(failed(kube::Error::Api(status))),
            };
            if seen.is_break() {
                return Ok(seen);
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
