// The forms in which values of an attribute type are stored as text.

internal import CipherSQLite
private import Foundation

extension AttributeType {
  /// Whether a text has the form in which values of a type are stored: what has another one is not found by a
  /// comparison. It has when the getter's own initializer takes it. Only of JSON a getter takes more: a type may have got
  /// members since, and has to read what it wrote before.
  func isForm(_ text: String) -> Bool {
    // What reads a form from bytes ends at a NUL, and would not see what stands behind it.
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
