// The names in a path: a property, one element of an ordered to-many, or the same object as a child
// entity. All but a property are written with characters that no property's name can have.

internal import CipherSQLite

/// One name of a ``PropertyPath``.
enum PathStep: Equatable {
  /// A property: `title`.
  case property(String)
  /// A member of an ordered to-many, counted from 0: `chapters[0]`, and `chapters[last]`.
  case element(String, index: Index)
  /// The object itself if it is of an entity or of one of its subentities, otherwise nil: `(Employee)`.
  case cast(String)

  enum Index: Hashable {
    case number(Int)
    case last
  }

  /// Parses a name of a path.
  init(_ name: String) {
    if name.utf8.last == UInt8(ascii: ")"), name.utf8.first == UInt8(ascii: "(") {
      self = .cast(String(name.dropFirst().dropLast()))
    } else if name.utf8.last == UInt8(ascii: "]"), let bracket = name.firstIndex(of: "["),
      let index = Index(name[name.index(after: bracket)...].dropLast())
    {
      self = .element(String(name[..<bracket]), index: index)
    } else {
      self = .property(name)
    }
  }

  /// The name as a path has it.
  var name: String {
    switch self {
    case .property(let name): name
    case .element(let name, .number(let number)): "\(name)[\(number)]"
    case .element(let name, .last): "\(name)[last]"
    case .cast(let entity): "(\(entity))"
    }
  }
}

extension PathStep.Index {
  fileprivate init?(_ text: Substring) {
    if text == "last" {
      self = .last
    } else if let number = Int(text), number >= 0 {
      self = .number(number)
    } else {
      return nil
    }
  }
}
