// Why an operation cannot be done to a model; whoever knows its place makes a better error of it.

/// Why an operation does not fit a model.
struct ModelError: Error { let reason: String }

/// Why the rows that are there do not fit an operation.
struct RowRefusal: Error { let reason: String }
