//! The names that lead from a variable to a part of it, in memory that routes share as they do in cel-go.
//!
//! cel-go extends a route in place where its memory has room, though a longer route may stand there already: `x.a` after
//! `x.e` makes the latter lead to `a`. Which sizes are found in the end depends on that, so it is done likewise.

use std::cell::RefCell;
use std::rc::Rc;

/// A route: the first names of memory that other routes may write behind, and over what is longer.
#[derive(Clone, Default)]
pub(super) struct Route {
    slots: Rc<RefCell<Vec<Option<Rc<str>>>>>,
    length: usize,
}

impl Route {
    /// The route to a variable itself.
    pub(super) fn variable(name: &str) -> Route {
        Route::default().extended(name)
    }

    /// The route to a part of what this one leads to.
    pub(super) fn extended(&self, name: &str) -> Route {
        let length = self.length + 1;
        let has_room = length <= self.slots.borrow().len();
        let slots = if has_room {
            Rc::clone(&self.slots)
        } else {
            let mut grown = self.slots.borrow()[..self.length].to_vec();
            grown.resize((2 * self.length).max(1), None);
            Rc::new(RefCell::new(grown))
        };
        slots.borrow_mut()[self.length] = Some(name.into());
        Route { slots, length }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The same route in memory of its own.
    pub(super) fn apart(&self) -> Route {
        let slots = self.slots.borrow()[..self.length].to_vec();
        Route { slots: Rc::new(RefCell::new(slots)), length: self.length }
    }

    /// The names, the variable first.
    pub(super) fn names(&self) -> Vec<Rc<str>> {
        self.slots.borrow()[..self.length].iter().flatten().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(route: &Route) -> String {
        route.names().join(".")
    }

    #[test]
    fn routes_are_extended_in_place_where_there_is_room() {
        let item = Route::variable("self").extended("o").extended("@items");
        let list = item.extended("e");
        let element = list.extended("@items");
        assert_eq!(shown(&list), "self.o.@items.e");
        let other = item.extended("a");
        assert_eq!((shown(&other), shown(&list)), ("self.o.@items.a".to_owned(), "self.o.@items.a".to_owned()));
        assert_eq!(shown(&element), "self.o.@items.e.@items");
    }

    #[test]
    fn routes_without_room_move() {
        let route = Route::variable("self");
        let first = route.extended("a");
        let second = route.extended("b");
        assert_eq!((shown(&first), shown(&second)), ("self.a".to_owned(), "self.b".to_owned()));
        assert!(Route::default().names().is_empty());
    }
}
