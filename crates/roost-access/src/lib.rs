//! Who may do what: RBAC, the node authorizer, tokens and access reviews, as pure functions.
