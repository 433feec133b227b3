//! The keys of one hosted control plane: what there should be, and a plan that gets there from what there is.
//!
//! Tables say what there should be: [`AUTHORITIES`], [`LEAVES`], [`BUNDLES`] and [`KUBECONFIGS`], all with the names of
//! upstream. [`plan`] compares them with the Secrets and ConfigMaps that exist and yields the objects to be written, each
//! whole and with a reason. Nothing here reads a clock or the network; the caller writes, and plans again when it has.
//!
//! # Rotation of an authority
//!
//! Whatever stage an authority is in can be told from the keys of its Secret, so a crash between any two writes leads to
//! a plan that goes on from there.
//!
//! ```text
//!              asked for, or 80 % of its life are over
//!   steady ────────────────────────────────────────────▶ trust both
//!   ca.crt, ca.key                                       + next-ca.crt, next-ca.key
//!      ▲                                                      │  every bundle, `ca.crt` and kubeconfig has the next one,
//!      │                                                      │  Pace::announce has passed since, and the caller confirms
//!      │                                                      ▼
//!      └──────────────────────────────────────────────── issue new
//!        every leaf and kubeconfig is of the new one,    ca.crt, ca.key are the next ones;
//!        Pace::settle has passed since, the caller       + old-ca.crt
//!        confirms, and for the signer of requests:
//!        what others hold of the old one has run out
//! ```
//!
//! When nobody confirms, the present authority stays in use until a twentieth of its life is left, then the next one takes
//! over all the same.
//!
//! Trusted are in every stage all certificates of the Secret, signing is `ca.key`. Annotations under
//! [`ANNOTATION_PREFIX`] hold the times: `stage` (for people), `stage-since`, `retired-at` (one time for each
//! certificate of `old-ca.crt`), `rotated-for` (the wish that was followed last) and, on every object, `written-at`.
//!
//! # Names
//!
//! A certificate is made anew when it lacks a name, not when it has one too many. That of the API server keeps the hosts
//! of the kubeconfigs that exist when it is made, so that whoever still uses one of them is served; they are gone with
//! the next renewal.
//!
//! # Losses
//!
//! An authority whose Secret is lost is made anew; what the bundles still trust of it stays trusted as if it were old,
//! and leaves move to the new one as in a rotation. One that has expired is replaced at once.

mod authorities;
mod evidence;
mod kubeconfigs;
mod leaves;
mod lifetimes;
mod material;
mod names;
mod observed;
mod planner;
mod progress;
mod reading;
mod rotation;
mod trust;

pub use authorities::{AUTHORITIES, Authority, AuthoritySpec};
pub use kubeconfigs::{ADMIN_KUBECONFIG, CLUSTER_LABEL, KUBECONFIGS, KubeconfigSpec, Reach, SCOPE_LABEL};
pub use leaves::{Ends, Files, LEAVES, LeafSpec, SERVER_LEAF, leaf};
pub use lifetimes::{
    Fraction, LifetimeError, Lifetimes, PACE_ANNOTATION, Pace, RENEWAL_ANNOTATION, VALIDITY_ANNOTATION,
};
pub use material::{Kind, Material, Plan, Reason, Wave, Write};
pub use names::{Endpoint, Part, Parts, PlaneNames};
pub use observed::{Data, Observed, Stored};
pub use planner::{Memory, Wishes, plan};
pub use progress::{Progress, Rotation, RotationError, Stage, Wait, Which};
pub use reading::{CsrSigner, ReadError, ServingPair, SigningKey, TrustBundle};
pub use trust::{AGGREGATOR_BUNDLE, BUNDLE_KEY, BUNDLES, BundleSpec, CLIENT_BUNDLE, KUBELET_BUNDLE, ROOT_BUNDLE};

/// What the names of all annotations begin with.
pub const ANNOTATION_PREFIX: &str = "pki.roost.internal/";
/// When an object was written.
pub const WRITTEN_ANNOTATION: &str = "pki.roost.internal/written-at";
/// The stage of an authority's rotation, for people.
pub const STAGE_ANNOTATION: &str = "pki.roost.internal/stage";
/// When that stage began.
pub const STAGE_SINCE_ANNOTATION: &str = "pki.roost.internal/stage-since";
/// When each of the old authorities signed last.
pub const RETIRED_ANNOTATION: &str = "pki.roost.internal/retired-at";
/// The wish for a rotation that was followed last.
pub const ROTATED_FOR_ANNOTATION: &str = "pki.roost.internal/rotated-for";

/// The Secret with what service account tokens are signed with.
pub const SIGNING_KEY_SECRET: &str = "sa-signing-key";
/// The private key in it.
pub const SIGNING_KEY_PRIVATE: &str = "service-account.key";
/// The public keys in it.
pub const SIGNING_KEY_PUBLIC: &str = "service-account.pub";
/// The Secret with the password of `kubeadmin`.
pub const PASSWORD_SECRET: &str = "kubeadmin-password";
/// The password in it.
pub const PASSWORD_KEY: &str = "password";
