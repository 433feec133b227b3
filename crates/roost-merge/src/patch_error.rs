//! Why a patch does not apply.

use roost_object::Status;
use roost_object::status::Details;

/// Why a patch does not apply. The texts are stock's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The patch is not what its media type says: the caller must send another one.
    #[error("{0}")]
    Malformed(String),
    /// The patch does not fit the object. Stock does not tell the client why.
    #[error("{0}")]
    Unprocessable(String),
    /// The patch has more operations than are allowed.
    #[error("The allowed maximum operations in a JSON patch is {max}, got {count}", max = crate::json_patch::MAX_OPERATIONS)]
    TooManyOperations {
        /// How many it has.
        count: usize,
    },
    /// Merging it would take too long; stock has no such limit.
    #[error("the patch repeats itself: merging its lists would go through more than {max} values", max = crate::strategic::effort::MAX_EFFORT)]
    TooCostly,
    /// What stock reports as an internal error although the patch is at fault.
    #[error("{0}")]
    Internal(String),
}

impl PatchError {
    /// The answer to the client.
    pub fn status(&self) -> Status {
        match self {
            PatchError::Malformed(message) => Status::bad_request(message.clone()),
            PatchError::Unprocessable(_) => {
                let message = "the server rejected our request due to an error in our request";
                Status::failure(422, "Invalid", message).with_details(Details::default())
            }
            PatchError::TooManyOperations { .. } | PatchError::TooCostly => Status::too_large(&self.to_string()),
            PatchError::Internal(message) => Status::failure(500, "", message.clone()),
        }
    }
}
