// `add … filling VALUE`: what is required from its first moment, where rows are there already. It is short for operations
// that do the same one after another, and the canonical text has those.

/// What a new property that is required needs where rows are there, as errors, proposals and lint say it.
enum FillingAdvice {
  static let attribute = "write: filling VALUE, default VALUE, or optional"
  static let toOne = "write: filling ID, or add it without required, fill it, then make it required"
  /// Of what an expression fills.
  static let expression = "give them a value, as in using (coalesce(…, 0)), or make it optional"
}

extension MigrationLine {
  /// The words that may stand behind the type of an attribute.
  static let attributeOptions = ["optional", "unique", "indexed", "default", "filling"]
  /// What a to-one is filled with.
  static let idForm = "the id of an object, such as filling 1"

  /// - Parameter column: Where the line goes on behind the name, for a line without the word.
  func fillsNothing(_ column: Int) -> StoreError {
    failure(
      "a filling is for what is required",
      self.column(of: "->") != nil
        ? "write required behind the other end, or leave out filling"
        : "leave out optional, or leave out filling",
      self.column(of: "filling") ?? column)
  }

  /// What to write in the place of a word that is no value.
  static func hint(forValue word: String, behind before: String, _ form: String) -> String {
    switch word {
    case "nil", "null", "NULL":
      return switch before {
      case "filling": "what may be nil is optional, and filled with nothing"
      case "to": "write none"
      default: "write \(form); where nothing is said it is nil"
      }
    case "(", "using":
      return before == "filling"
        ? "write \(form); what differs from row to row is written by transform sql: add it optional, write it, make it required"
        : "write \(form)"
    case ":", "=": return "write the value at once behind \(before)"
    default: return word.hasPrefix("'") ? "write a text in double quotes" : "write \(form)"
    }
  }
}
