// The names in a path: a property, one element of an ordered to-many, the same object as a child entity, or
// the type of a part of JSON. All but a property are written with characters that no property's name can
// have.

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

/// The end of a path at a part of a JSON attribute, such as `settings.size.width`.
struct JSONPartPath {
  /// The name of the attribute.
  let attribute: String
  /// The names from the attribute's value to the part.
  let names: [String]
  /// The type as which the part is read; nil if the path does not have it.
  let type: AttributeType?

  /// Parses the rest of a path after its relationships.
  /// - Parameter isJSON: Returns whether an attribute is stored as JSON.
  /// - Returns: nil for the rest of a path that leads into no JSON.
  init?(_ rest: some BidirectionalCollection<String>, isJSON: (String) -> Bool) {
    guard let first = rest.first else { return nil }
    var names = Array(rest.dropFirst())
    if case .element(let attribute, let index) = PathStep(first) {
      self.attribute = attribute
      names.insert(String(PathStep.element("", index: index).name), at: 0)
    } else {
      attribute = first
    }
    if let last = names.last, case .type(let type) = PathStep(last) {
      self.type = type
      names.removeLast()
    } else {
      type = nil
    }
    guard !names.isEmpty, isJSON(attribute) else { return nil }
    self.names = names
  }

  /// The path as messages show it.
  var shown: String {
    names.reduce(attribute) { $1.hasPrefix("[") ? $0 + $1 : "\($0).\($1)" }
  }
}

extension PropertyPath {
  /// Returns the path of a part of JSON with the type as which it is read.
  func read(as type: AttributeType) -> PropertyPath {
    PropertyPath(depth: depth, names + [PathStep.type(type).name], place: place)
  }

  /// The names without the type of a part of JSON.
  var namesOfPart: ArraySlice<String> {
    if let last = names.last, case .type = PathStep(last) { names.dropLast() } else { names[...] }
  }

  /// The path to the number of elements of an array in JSON, if the path leads to one.
  var sizeOfPart: PropertyPath {
    PropertyPath(depth: depth, names + ["[count]"], place: place).read(as: .int)
  }
}

extension AttributeType {
  /// The type as which a part of JSON is read that is compared with a value of this type: for whole numbers
  /// a decimal, as the part may have a fraction.
  var ofJSONPart: AttributeType { isInteger && self != .bool ? .decimal : self }
}
