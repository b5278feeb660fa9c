// The forms in which values of an attribute type are stored as text.

internal import CipherSQLite
private import Foundation

extension AttributeType {
  /// Returns whether a text has the form in which values of the type are stored.
  ///
  /// Comparisons do not find text in another form. The test is whether the getter's initializer accepts
  /// the text. For JSON the test is stricter than the getter, which must also read JSON that was written
  /// before its type got more members.
  func isForm(_ text: String) -> Bool {
    // Foundation's parsers stop at a NUL, and would ignore any text after it.
    if case .text(let form) = traits.storage, form != .any, text.utf8.contains(0) { return false }
    return switch traits.storage {
    case .text(.decimal): Decimal(stored: .text(text)) != nil
    case .text(.uuid): UUID(stored: .text(text)) != nil
    case .text(.url): URL(stored: .text(text)) != nil
    case .text(.json): JSONForm.isStored(text)
    case .text(.any), .integer, .real, .blob: true
    }
  }
}
