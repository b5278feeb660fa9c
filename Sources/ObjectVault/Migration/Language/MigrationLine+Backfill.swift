// The option `filling VALUE` of `add …`: the backfill value that existing rows get for a new required
// property. A line with this option stands for several operations, and the canonical text has those.

/// Advice on adding a required property if rows exist, for errors, proposals and the lint.
enum BackfillAdvice {
  static let attribute = "write: filling VALUE, default VALUE, or optional"
  static let toOne = "write: filling ID, or add it without required, fill it, then make it required"
  /// Advice for a property whose values an expression computes.
  static let expression = "give them a value, as in using (coalesce(…, 0)), or make it optional"
}

extension MigrationLine {
  /// The options that may follow the type of an attribute.
  static let attributeOptions = ["optional", "unique", "indexed", "lazy", "default", "filling"]
  /// The form of a backfill value for a to-one.
  static let idForm = "the id of an object, such as filling 1"

  /// Returns the error for `filling` on a property that is not required.
  /// - Parameter column: The column of the first word after the property's name. The error has this
  ///   column only if the word `filling` is not found in the line.
  func fillsNothing(_ column: Int) -> StoreError {
    failure(
      "filling needs a required property",
      hint: self.column(of: "->") != nil
        ? "write required after the entity, or remove filling"
        : "remove optional, or remove filling",
      at: self.column(of: "filling") ?? column)
  }

  /// Returns advice for a word that is not a value.
  static func hint(forValue word: String, after before: String, _ form: String) -> String {
    switch word {
    case "nil", "null", "NULL":
      return switch before {
      case "filling": "to allow nil, write optional instead of filling"
      case "to": "write none"
      default: "write \(form); without a default it is nil"
      }
    case "(", "using":
      return before == "filling"
        ? "write \(form); for values that differ from row to row, add it as optional, set it with transform "
          + "sql, and make it required"
        : "write \(form)"
    case ":", "=": return "write the value directly after \(before)"
    default: return word.hasPrefix("'") ? "write a text in double quotes" : "write \(form)"
    }
  }
}
