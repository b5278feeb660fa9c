// Errors that do not name the step. A caller that has the step converts them to a public error.

/// The reason why an operation does not fit a model.
struct ModelError: Error { let reason: String }

/// The reason why existing rows do not fit an operation.
struct RowRefusal: Error { let reason: String }
