// `add … filling VALUE`: what is required from its first moment, where rows are there already. It is short for operations
// that do the same one after another, and the canonical text has those.

/// What a new property that is required needs where rows are there, as errors, proposals and lint say it.
enum FillingAdvice {
  static let attribute = "write: filling VALUE, default VALUE, or optional"
  static let toOne = "write: filling ID, or add it without required, fill it, then make it required"
  /// Of what an expression fills.
  static let expression = "give them a value, as in using (coalesce(…, 0)), or make it optional"
  /// Of the second end of a one-to-one.
  static let paired =
    "add it without required, which fills it out of its other end, and make it required in a line behind"
}

extension MigrationLine {
  func fillsNothing(_ column: Int) -> StoreError {
    failure(
      "a filling is for what is required",
      "leave out optional, or write required behind the other end of a relationship; or leave out filling",
      column)
  }
}
