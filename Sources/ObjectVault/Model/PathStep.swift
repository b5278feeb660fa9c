// The names in a path: a property, one element of an ordered to-many, a cast to a subentity, or the type of
// a part of JSON. All but a property are written with characters that no property's name can have.

internal import CipherSQLite

/// One name of a ``PropertyPath``.
enum PathStep: Equatable {
  /// A property: `title`.
  case property(String)
  /// A member of an ordered to-many, counted from 0: `chapters[0]`, and `chapters[last]`.
  case element(String, index: Index)
  /// The object itself if it is of an entity or of one of its subentities, otherwise nil: `(Employee)`.
  case cast(String)
  /// The type of a part of a JSON attribute, at the end of its path: `settings.theme`, then `as string`.
  case type(AttributeType)

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
    } else if name.hasPrefix("as "), let type = AttributeType(rawValue: String(name.dropFirst(3))) {
      self = .type(type)
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
    case .type(let type): "as \(type.rawValue)"
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

extension BidirectionalCollection<String> {
  /// The names without the type of a part of JSON.
  var withoutType: SubSequence {
    if let last, case .type = PathStep(last) { dropLast() } else { self[...] }
  }

  /// The path as messages show it.
  var shownPath: String {
    withoutType.reduce("") { $0.isEmpty || $1.hasPrefix("[") ? $0 + $1 : "\($0).\($1)" }
  }
}
