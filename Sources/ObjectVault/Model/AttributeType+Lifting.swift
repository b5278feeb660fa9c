// The meaning of a text in a predicate that is compared with values of another type, such as dates. SQL
// and evaluation in memory share it.

internal import CipherSQLite
private import Foundation

/// The meaning of a text that is compared with values of a type.
enum LiftedText: Equatable {
  /// A value of the type, in stored form.
  case value(SQLValue)
  /// No value of the type.
  case nothing
}

extension AttributeType {
  /// Returns the meaning of a text that is compared with values of the type; nil for types that texts are
  /// not converted to.
  func lifted(_ text: String) -> LiftedText? {
    switch traits.written {
    case .uuid: UUID(uuidString: text).map { .value(.text($0.uuidString)) } ?? .nothing
    case .date: DateText.seconds(text).map { .value(.real($0)) } ?? .nothing
    case nil: nil
    }
  }
}

extension AttributeTraits.WrittenForm {
  /// The name of the form, for messages.
  var name: String {
    switch self {
    case .uuid: "UUID"
    case .date: "date"
    }
  }

  /// Examples of the form, for messages; nil where the form is well known.
  var example: String? {
    switch self {
    case .uuid: nil
    case .date: "2024-05-01 or 2024-05-01T18:30:00Z"
    }
  }
}
