// Finds the key under which a property of a Codable type is stored in JSON. A CodingKeys may rename it, so
// the printed name of a key path alone does not decide: a sample value is stored with another value under
// that key, and read again through the key path.

private import Foundation
internal import CipherSQLite

/// A JSON attribute, followed to one of its parts.
struct JSONSample {
  /// The names from the attribute's value to the part. Any element stands for all of a collection.
  private(set) var names: [String] = []
  /// The Swift type of the part.
  private(set) var type: Any.Type
  /// The JSON of a value of the attribute.
  private let stored: SQLValue
  /// Returns the part of the value that is stored as a JSON text; nil if there is none.
  private var read: (SQLValue) -> Any?

  /// Begins at the value of an attribute.
  /// - Parameter type: The Swift type of the attribute, or the type that it is an optional of.
  /// - Returns: nil if the type is not stored as JSON, or has no sample value.
  init?(_ type: Any.Type) {
    guard let attribute = type as? any AttributeValue.Type, let stored = attribute.jsonSample else {
      return nil
    }
    (self.type, self.stored, read) = (type, stored, { attribute.init(stored: $0) })
  }

  /// Begins at the value that a composed key path leads to.
  /// - Parameters:
  ///   - names: The names of the parts along the key path.
  ///   - shown: What errors call the key path.
  ///   - stored: The JSON of a value of the attribute.
  ///   - read: Returns the value of the key path where the attribute has the value of a JSON text.
  init(
    verifying keyPath: AnyKeyPath, names: [String], shown: String, stored: SQLValue,
    read: @escaping (SQLValue) -> Any?
  ) throws(JSONSampleError) {
    (type, self.stored, self.read) = (Swift.type(of: keyPath).valueType, stored, read)
    self.names = names
    guard type is any AttributeValue.Type else { throw JSONSampleError(path: shown, reason: .otherType) }
    try verify(shown)
  }

  /// Returns the part that a property leads to.
  func following(_ keyPath: AnyKeyPath) throws(JSONSampleError) -> JSONSample {
    let text = keyPath.debugDescription
    guard let name = text.split(separator: ".").last.map(String.init), Schema.isIdentifier(name) else {
      throw JSONSampleError(path: text, reason: .computed)
    }
    var next = self
    let before = read
    next.read = { before($0).flatMap(unwrapped).flatMap { valueOfKeyPath(keyPath, in: $0) } }
    next.names.append(name)
    next.type = Swift.type(of: keyPath).valueType
    try next.verify(text)
    return next
  }

  /// Returns an element of an array or a dictionary, from which key paths can be followed. It need not be the
  /// one that a path names, because all elements have the same keys.
  /// - Throws: `JSONSampleError` for a value that is no array or dictionary in JSON, such as data.
  func element(_ element: JSONElement) throws(JSONSampleError) -> JSONSample {
    if case .text(let text) = stored, case .leaf? = JSONTree(text: text)?.part(at: names[...]) {
      throw JSONSampleError(path: names.shownPath, reason: .noCollection)
    }
    var next = self
    let before = read
    next.read = { before($0).flatMap(unwrapped).flatMap(element.sample)?.value }
    // For a collection without elements a key path that continues there is an error.
    next.names.append(before(stored).flatMap(unwrapped).flatMap(element.sample)?.name ?? "[0]")
    next.type = element.type
    return next
  }

  /// The attribute type of the part: `json` for a structure or an array.
  var attributeType: AttributeType { (type as? any AttributeValue.Type)?.attributeType ?? .json }

  /// Checks that the part is stored under the names, in the form that an attribute of its type has: other
  /// values that are stored there must be read through the key path.
  private func verify(_ path: String) throws(JSONSampleError) {
    guard case .text(let text) = stored, let json = JSONTree(text: text) else {
      throw JSONSampleError(path: path, reason: .absent)
    }
    guard let part = json.part(at: names[...]) else {
      let isKnown = read(stored).flatMap(JSONTree.init(encoding:)).map { !$0.isNull } == true
      throw JSONSampleError(path: path, reason: isKnown ? .renamed : .absent)
    }
    let attribute = type as? any AttributeValue.Type
    // A computed property may depend on other parts.
    for other in json.variants(limit: 64) {
      guard other.part(at: names[...]) == part, let value = read(.text(other.text)) else { continue }
      if JSONTree(encoding: value) != part { throw JSONSampleError(path: path, reason: .renamed) }
    }
    let others = attribute?.jsonSamples ?? [part.changed, part]
    var isProven = false
    for other in others where !other.isNull {
      let changed = SQLValue.text(json.replacing(names[...], by: other).text)
      // A structure may not accept the change.
      guard let value = read(changed).flatMap(unwrapped) else { continue }
      guard JSONTree(encoding: value) == other else { throw JSONSampleError(path: path, reason: .renamed) }
      if let form = try? (value as? any AttributeValue)?.stored(), attributeType != .json {
        guard JSONPath(names).value(in: changed, as: attributeType).isStored(as: form) else {
          throw JSONSampleError(path: path, reason: .encoded)
        }
      }
      isProven = true
    }
    guard isProven else { throw JSONSampleError(path: path, reason: .renamed) }
  }
}

/// A subscript of an array or a dictionary in JSON.
struct JSONElement {
  let collection: Any.Type
  let type: Any.Type
  /// The key in a dictionary; nil for an array.
  var key: String?
  /// Returns any element of a collection, with its index or key as in a path; nil if it is empty.
  let sample: (Any) -> (name: String, value: Any)?
}

/// A key path that does not lead to a part of JSON whose key is known.
struct JSONSampleError: Error, CustomStringConvertible {
  enum Reason {
    /// The type of the part is no type of attributes.
    case otherType
    case computed, absent, renamed, encoded
    /// The value is no array or dictionary in JSON.
    case noCollection
  }
  let path: String
  let reason: Reason

  var description: String {
    switch reason {
    case .computed: "\(path) is no stored property of a Codable value"
    case .absent:
      "the key of \(path) in JSON is not known, because the placeholder of the attribute's type has no value "
        + "there; give it one, or name the part in a text, such as \"settings.theme == 'dark'\""
    case .encoded:
      "\(path) is encoded in another form than an attribute of its type is stored in; compare it in a text, with "
        + "the value that the JSON has"
    case .otherType:
      "\(path) has a type that is no type of attributes, and cannot be sorted, selected or grouped by; conform it to "
        + "AttributeValue"
    case .noCollection: "\(path) is no array or dictionary in JSON, so it has no elements there"
    case .renamed:
      "\(path) is computed, or has another key in JSON; name the part by its key in a text, such as \"settings.theme == 'dark'\""
    }
  }
}

extension AttributeValue {
  /// The JSON of a value of the type; nil for types that are not stored as JSON.
  static var jsonSample: SQLValue? {
    guard attributeType == .json else { return nil }
    return samples.reversed().lazy.compactMap { try? $0.stored() }.first { !$0.isNull }
  }

  /// Values of the type as they are encoded; nil for types that are stored as JSON themselves.
  fileprivate static var jsonSamples: [JSONTree]? {
    attributeType == .json ? nil : samples.compactMap { JSONTree(encoding: $0) }
  }
}

/// Returns the value inside all its optionals; nil for nil.
func unwrapped(_ value: Any) -> Any? {
  guard let optional = value as? any OptionalValue else { return value }
  return optional.content.flatMap(unwrapped)
}

private func valueOfKeyPath(_ keyPath: AnyKeyPath, in value: Any) -> Any? {
  func read(_ value: some Any) -> Any? { value[keyPath: keyPath] }
  return read(value)
}

/// A JSON value whose parts are compared and replaced.
fileprivate indirect enum JSONTree: Equatable {
  /// A string, a number, a truth value or null, as its text.
  case leaf(String)
  case array([JSONTree])
  case object([String: JSONTree])

  init?(text: String) {
    guard
      let value = try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed),
      let tree = Self.tree(value)
    else { return nil }
    self = tree
  }

  init?(encoding value: Any) {
    guard let value = unwrapped(value) as? any Encodable, let data = try? JSONEncoder().encode(value) else {
      return nil
    }
    self.init(text: String(decoding: data, as: UTF8.self))
  }

  private static func tree(_ value: Any) -> JSONTree? {
    if let object = value as? [String: Any] { return .object(object.compactMapValues(tree)) }
    if let array = value as? [Any] { return .array(array.compactMap(tree)) }
    let data = try? JSONSerialization.data(withJSONObject: value, options: .fragmentsAllowed)
    return data.map { .leaf(String(decoding: $0, as: UTF8.self)) }
  }

  var text: String {
    switch self {
    case .leaf(let text): text
    case .array(let parts): "[\(parts.map(\.text).joined(separator: ","))]"
    case .object(let parts):
      "{"
        + parts.map { "\(JSONTree(encoding: $0.key)?.text ?? "\"\""):\($0.value.text)" }.joined(
          separator: ",")
        + "}"
    }
  }

  var isNull: Bool { self == .leaf("null") }

  /// The value with other strings, whole numbers and truth values.
  var changed: JSONTree {
    switch self {
    case .array(let parts): return .array(parts.map(\.changed))
    case .object(let parts): return .object(parts.mapValues(\.changed))
    case .leaf("true"): return .leaf("false")
    case .leaf("false"): return .leaf("true")
    case .leaf(let text) where text.hasPrefix("\""): return .leaf("\"\(text.dropFirst().dropLast())B\"")
    case .leaf(let text): return Int(text).map { .leaf("\($0 == 1 ? 2 : 1)") } ?? self
    }
  }

  /// Returns copies in each of which one leaf has another value.
  func variants(limit: Int) -> [JSONTree] {
    var found: [JSONTree] = []
    switch self {
    case .leaf: found = changed == self ? [] : [changed]
    case .array(let parts):
      for (index, part) in parts.enumerated() where found.count < limit {
        found += part.variants(limit: limit - found.count).map { other in
          var copy = parts
          copy[index] = other
          return .array(copy)
        }
      }
    case .object(let parts):
      for (key, part) in parts where found.count < limit {
        found += part.variants(limit: limit - found.count).map { other in
          var copy = parts
          copy[key] = other
          return .object(copy)
        }
      }
    }
    return found
  }

  func part(at names: ArraySlice<String>) -> JSONTree? {
    guard let name = names.first else { return self }
    switch (self, JSONPath([name]).steps.first) {
    case (.object(let parts), .key(let key)?): return parts[key]?.part(at: names.dropFirst())
    case (.array(let parts), .index(let index)?) where parts.indices.contains(index):
      return parts[index].part(at: names.dropFirst())
    default: return nil
    }
  }

  func replacing(_ names: ArraySlice<String>, by other: JSONTree) -> JSONTree {
    guard let name = names.first else { return other }
    switch (self, JSONPath([name]).steps.first) {
    case (.object(var parts), .key(let key)?):
      parts[key] = parts[key]?.replacing(names.dropFirst(), by: other)
      return .object(parts)
    case (.array(var parts), .index(let index)?) where parts.indices.contains(index):
      parts[index] = parts[index].replacing(names.dropFirst(), by: other)
      return .array(parts)
    default: return self
    }
  }
}
