// What a text in a predicate means beside values that are no strings: the same in SQL and in memory.

internal import CipherSQLite
private import Foundation

/// What a text is beside values of a type that it may stand for.
enum LiftedText: Equatable {
  /// A value of the type, in stored form.
  case value(SQLValue)
  /// None of them.
  case nothing
}

extension AttributeType {
  /// What a text is beside values of the type; nil for types whose values no text is lifted to.
  func lifted(_ text: String) -> LiftedText? {
    switch traits.written {
    case .uuid: UUID(uuidString: text).map { .value(.text($0.uuidString)) } ?? .nothing
    case .date: DateText.seconds(text).map { .value(.real($0)) } ?? .nothing
    case nil: nil
    }
  }
}

extension AttributeTraits.WrittenForm {
  /// What it is called, and how one is written, for messages.
  var name: String {
    switch self {
    case .uuid: "UUID"
    case .date: "date"
    }
  }

  /// What to write, for messages; nil where everybody knows.
  var example: String? {
    switch self {
    case .uuid: nil
    case .date: "2024-05-01 or 2024-05-01T18:30:00Z"
    }
  }
}
