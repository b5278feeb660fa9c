// What the getters of a prototype do: they note what was read, and give sample values.

internal import CipherSQLite
private import Foundation

/// What was read along a key path, and what it was given.
final class Recording {
  /// The last of them has no objects behind its to-ones: nothing that traps on nil may be read before the others
  /// have shown what it is.
  static let variantCount = 5
  private let variant: Int
  private(set) var names: [String] = []
  /// Whether a to-one was nil.
  private(set) var isCut = false
  /// Whether each read was on the object that the one before gave.
  private var isChain = true
  private var expected: ManagedObject?
  /// Whether what came back is what the last read gave.
  private var isLast: (_ value: Any?, _ type: Any.Type) -> Bool = { _, _ in false }

  init(_ variant: Int) { self.variant = variant }

  var isThroughToOne: Bool { names.count > 1 }

  /// An object whose getters note what they are asked for.
  func prototype<Object: ManagedObject>(_ type: Object.Type) -> Object {
    let prototype = type.init()
    prototype.overlay = Overlay(slotCount: 0, recording: self)
    prototype.rowID = Int64(1000 + names.count * 10 + variant)
    expected = prototype
    return prototype
  }

  /// What is wrong with the value at the end of the path; nil when it is the property's own.
  func problem(with value: Any?, _ type: Any.Type) -> KeyPathError.Problem? {
    if names.isEmpty { return .noProperty }
    defer { isLast = { _, _ in false } }  // It holds objects that hold this.
    return isChain && isLast(value, type) ? nil : .computed(names)
  }

  private func note(_ object: ManagedObject, _ name: String) {
    if object !== expected { isChain = false }
    expected = nil
    names.append(name)
  }

  private func note(_ object: ManagedObject, slot: Int) {
    let properties = ClassDescription.of(type(of: object)).properties
    note(object, properties.first { $0.slot == slot }?.name ?? "?")
  }

  // MARK: What getters give

  func attribute<Value: AttributeValue>(of object: ManagedObject, _ slot: Int) -> Value {
    note(object, slot: slot)
    let samples = Value.samples
    let given = samples.isEmpty ? Value.placeholder : samples[min(variant, 3) % samples.count]
    isLast = { value, type in
      guard type == Value.self || type == Value?.self else { return false }
      guard let stored = try? given.stored(), let value = value as? Value else { return false }
      return (try? value.stored()).map { $0.isStored(as: stored) } == true
    }
    return given
  }

  func target<Target: ManagedObject>(of object: ManagedObject, _ slot: Int) -> Target? {
    note(object, slot: slot)
    if variant == Self.variantCount - 1 {
      isCut = true
      isLast = { value, _ in Self.unwrapped(value) == nil }
      return nil
    }
    let target = prototype(Target.self)
    isLast = { value, type in
      (type == Target?.self || type == Target.self) && value as? Target === target
    }
    return target
  }

  func members<Target: ManagedObject>(of object: ManagedObject, _ slot: Int) -> Set<Target> {
    note(object, slot: slot)
    let given = variant % 2 == 0 ? [prototype(Target.self), prototype(Target.self)] : []
    // Nothing leads on from a member.
    expected = nil
    isLast = { value, type in
      guard type == Set<Target>.self || type == Set<Target>?.self else { return false }
      return value as? Set<Target> == Set(given)
    }
    return Set(given)
  }

  func noteID<ID>(of object: ManagedObject, _ id: ID.Type) {
    note(object, KeyPathResolver.idName)
    let rowID = object.rowID
    isLast = { value, type in
      guard type == ID.self || type == ID?.self else { return false }
      return (Self.unwrapped(value) as? any ObjectIdentifying)?.constant.stored == .integer(rowID)
    }
  }

  /// The value in all its optionals.
  private static func unwrapped(_ value: Any?) -> Any? {
    guard let value else { return nil }
    guard let optional = value as? any OptionalValue else { return value }
    return optional.content.flatMap { unwrapped($0) }
  }
}

/// Any optional.
protocol OptionalValue { var content: Any? { get } }
extension Optional: OptionalValue {
  var content: Any? { map { $0 as Any } }
}

extension AttributeValue {
  /// Values far from each other, such that little that is computed from them gives all of them back.
  fileprivate static var samples: [Self] {
    let samples = attributeType.samples.compactMap { Self(stored: $0) }
    // The types that are their own samples' first: each cast below has the runtime scan all libraries.
    if samples.count >= 2 { return isOptionalAttribute ? samples + [placeholder] : samples }
    if isOptionalAttribute,
      let wrapped = (Self.self as? any OptionalAttribute.Type)?.wrappedSamples as? [Self]
    {
      return wrapped + [placeholder]
    }
    if let cases = (Self.self as? any CaseIterable.Type)?.values as? [Self], cases.count >= 2 { return cases }
    return (try? placeholder.stored())?.variations.compactMap { Self(stored: $0) } ?? []
  }
}

private protocol OptionalAttribute { static var wrappedSamples: [Any] { get } }
extension Optional: OptionalAttribute where Wrapped: AttributeValue {
  fileprivate static var wrappedSamples: [Any] { Wrapped.samples.map { Optional.some($0) as Any } }
}

extension CaseIterable {
  fileprivate static var values: [Any] { Array(allCases) }
}

private let longText = SQLValue.text(
  "  Zwei\n\u{65}\u{301}\u{e9} " + String(repeating: "Längeres ", count: 100))

extension AttributeType {
  fileprivate var samples: [SQLValue] {
    switch self {
    case .bool: [1, 0]
    case .int: [7_000_000_000_000_001, -9_000_000_000_000_003, 3]
    case .int8: [101, -103, 3]
    case .int16: [31_001, -31_003, 3]
    case .int32: [2_000_000_011, -2_000_000_033, 3]
    case .uint8: [201, 3]
    case .uint16: [61_001, 3]
    case .uint32: [4_000_000_007, 3]
    case .float: [1_000_001.5, -2_000_003.25, 0.125]
    case .double, .date: [.real(1e12 + 0.125), .real(-2e12 - 0.375), 0.0625]
    case .decimal: ["123456789012345678901.25", "-987654321098765432109.75", "0.5"]
    case .string:
      [longText, "a", "B"]
    case .data: [.blob(Data([0, 255, 7])), .blob(Data())]
    case .uuid: ["5A3C8E0E-0000-4000-8000-1234567890AB", "FFFFFFFF-FFFF-4FFF-8FFF-FFFFFFFFFFFF"]
    case .url: ["https://User@Example.com:8080/A/b?c=d#E", "file:///x/y"]
    case .json: []
    }
  }
}

extension SQLValue {
  /// For JSON: the same with other strings, or other numbers.
  fileprivate var variations: [SQLValue] {
    guard case .text(let text) = self,
      let json = try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
    else { return [self] }
    return (0..<3).compactMap { step in
      let changed = Self.changed(json, step)
      let data = try? JSONSerialization.data(withJSONObject: changed, options: .fragmentsAllowed)
      return data.map { .text(String(decoding: $0, as: UTF8.self)) }
    } + [self]
  }

  private static func changed(_ json: Any, _ step: Int) -> Any {
    switch json {
    case let object as [String: Any]: object.mapValues { changed($0, step) }
    case let array as [Any]: array.map { changed($0, step) }
    case let text as String where step != 1: "\(text) B\(step)"
    case let number as Int where step != 2: number + 41 + step
    default: json
    }
  }
}
