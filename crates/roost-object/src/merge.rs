//! How the places of an object merge: the view of a schema that patches and server-side apply need.
//!
//! Built-in kinds answer from generated tables, custom resources from their structural schemas. Both implement
//! [`Node`], so that the merge code exists once.

/// What kind of place a schema node describes, as far as merging goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A leaf, or a list or map that is owned and replaced as a whole.
    Atomic,
    /// A struct or map whose entries are owned one by one.
    Map,
    /// A list whose elements are objects identified by the values of some keys.
    ListMap,
    /// A list of unique scalars.
    Set,
    /// Nothing is known: merging goes by the values that are there (maps granular, lists atomic).
    Untyped,
}

/// A place in a schema. Handles are small and cheap to copy.
pub trait Node: Copy {
    /// How this place merges.
    fn shape(self) -> Shape;

    /// The schema of a named field or map entry; none when the schema does not know it.
    fn field(self, name: &str) -> Option<Self>;

    /// Whether a name is a field that the schema spells out, and not an entry of a map.
    ///
    /// A node that takes any name takes it as an entry. One that also has fields of its own takes unknown names untyped.
    fn declares(self, name: &str) -> bool {
        let is_typed = || self.field(name).is_some_and(|below| below.shape() != Shape::Untyped);
        self.shape() != Shape::Untyped
            && self.field(name).is_some()
            && self.field("\0").is_none_or(|entry| entry.shape() == Shape::Untyped && is_typed())
    }

    /// Whether this is a type of its own, for which it does not count that unknown fields are kept around it.
    fn is_closed(self) -> bool {
        false
    }

    /// The schema of a list's elements.
    fn element(self) -> Option<Self>;

    /// The keys that identify the elements of a [`Shape::ListMap`].
    fn list_keys(self) -> Vec<String>;

    /// The default of a scalar, which fills a missing list key (such as `protocol: TCP` of a port).
    fn default(self) -> Option<serde_json::Value>;
}
