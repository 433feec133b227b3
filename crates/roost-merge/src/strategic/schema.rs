//! What a strategic merge needs to know about a kind.

/// The view of a built-in kind that strategic merge patches need. Custom resources have none.
pub trait StrategicSchema: Copy {
    /// How a field is patched, by its JSON name; the error is stock's text for a field that is not there.
    fn patch_field(self, name: &str) -> Result<PatchField<Self>, String>;

    /// The schema of a list's elements.
    fn patch_element(self) -> Option<Self>;
}

/// How a field is patched.
#[derive(Clone, Copy, Debug)]
pub struct PatchField<S> {
    /// What the field holds; for a list, the list. None if nothing is known below it.
    pub schema: Option<S>,
    /// The strategy: empty, `merge`, `replace`, `retainKeys` or `merge,retainKeys`.
    pub strategy: &'static str,
    /// The key that tells the elements of a list apart; empty for none.
    pub merge_key: &'static str,
}

impl<S> PatchField<S> {
    pub(super) fn merges(&self) -> bool {
        self.strategy.split(',').any(|strategy| strategy == "merge")
    }

    pub(super) fn replaces(&self) -> bool {
        self.strategy.split(',').any(|strategy| strategy == "replace")
    }

    pub(super) fn merge_key(&self) -> &'static str {
        self.merge_key
    }
}
