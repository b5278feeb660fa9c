// Paths that lead into JSON attributes: `settings.size.width`. The last name is the type of the part, unless
// the type follows from what the part is compared with.

internal import CipherSQLite

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
  var shown: String { ([attribute] + names).shownPath }
}

extension PropertyPath {
  /// Returns the path of a part of JSON with the type as which it is read.
  func read(as type: AttributeType) -> PropertyPath {
    PropertyPath(depth: depth, names + [PathStep.type(type).name], place: place)
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
