// Records the calls of prototypes' getters: the properties that were read and the values that were
// returned.

internal import CipherSQLite
private import Foundation

/// The reads along one key path, and the values that the getters returned.
final class Recording: GetterProbe {
  /// The values that getters return.
  enum Values {
    /// A plain value for each attribute, and an object for each to-one.
    case plain
    /// The sample with this index for each attribute, and an object for each to-one.
    case sample(Int)
    /// The value with this JSON for a JSON attribute, plain values for others, and an object for each to-one.
    case json(SQLValue)
    /// nil for each to-one. Paths that would trap on nil were rejected before, by the printed form and
    /// the other values.
    case nothing
  }

  /// More reads than any path needs. After this number to-ones return nil, so that a computed property
  /// that calls itself ends.
  private static let maximumReads = 64

  private let values: Values
  private(set) var names: [String] = []
  /// The properties that were read one after another, with a `!` after each to-one.
  private var links: [AnyKeyPath] = []
  /// The number of samples for the last property that was read.
  private(set) var sampleCount = 0
  /// The JSON of a value of the last property that was read, if it is stored as JSON.
  private(set) var json: SQLValue?
  /// Whether the type of a property has no value for the JSON of `values`.
  private(set) var refusesJSON = false
  /// Whether a to-one returned nil.
  private(set) var isCut = false
  /// Whether a to-one was read, whose value nil would end the path early.
  private(set) var readsToOne = false
  /// Whether each read was on the object that the previous one returned.
  private var isChain = true
  private var expected: ManagedObject?
  /// The class that the path begins at.
  private var root: ManagedObject.Type?
  /// Returns whether a value is the one that the last read returned.
  private var isLast: (_ value: Any?, _ type: Any.Type) -> Bool = { _, _ in false }

  init(_ values: Values) { self.values = values }

  /// The key path of the first property that was read.
  var property: AnyKeyPath? { links.first }

  /// Whether the first property that was read belongs to a superclass of the root. Its key path begins at
  /// that class, and equals no key path that begins at the root.
  var isInherited: Bool {
    guard let root, let link = links.first else { return false }
    return type(of: link).rootType != root
  }

  /// Returns whether a superclass of the root declares the first property that was read, and a key path
  /// that begins at the root refers to that property.
  func isInherited(by path: AnyKeyPath) -> Bool {
    guard isInherited, let link = links.first else { return false }
    return KeyPathComparison.holds(path, for: link)
  }

  /// The key path of the reads, with `!` after each to-one. It is composed from its end: otherwise Swift
  /// adds markers that a path in source code does not have, and the two paths are unequal.
  var path: AnyKeyPath? {
    var path: AnyKeyPath?
    for link in links.reversed() { path = path.map { link.appending(path: $0) } ?? link }
    return path
  }

  /// Makes an object whose getters record their calls.
  func prototype<Object: ManagedObject>(_ type: Object.Type) -> Object {
    let prototype = ClassDescription.of(type).make()
    prototype.extras = Extras(recording: self)
    prototype.rowID = Int64(1000 + names.count)
    expected = prototype
    if root == nil { root = type }
    // Safe: the object was made with exactly this class.
    return unsafe unsafeDowncast(prototype, to: Object.self)
  }

  /// Returns what is wrong with the value that the path returned; nil when it is the property's value.
  func problem(with value: Any?, _ type: Any.Type) -> KeyPathError.Problem? {
    if names.isEmpty { return .noProperty }
    defer { forget() }
    return isChain && isLast(value, type) ? nil : .computed(names)
  }

  /// Releases the objects that were returned, which retain this recording.
  func forget() {
    isLast = { _, _ in false }
    expected = nil
  }

  private func note(_ object: ManagedObject, name: String, _ property: () -> AnyKeyPath) {
    if object !== expected { isChain = false }
    expected = nil
    guard names.count < Self.maximumReads else {
      isChain = false
      return
    }
    if isChain { links.append(property()) }
    names.append(name)
  }

  private func note(_ object: ManagedObject, slot: Int, _ property: () -> AnyKeyPath) {
    let properties = ClassDescription.of(type(of: object)).properties
    note(object, name: properties.first { $0.slot == slot }?.name ?? "?", property)
  }

  // MARK: Results of getters

  func attribute<Value: AttributeValue>(
    of object: ManagedObject, slot: Int, _ property: () -> AnyKeyPath
  ) -> Value {
    note(object, slot: slot, property)
    var given = Value.plain
    json = Value.jsonSample
    if let sample = json {
      // nil, the placeholder of an optional, would end a path to a part of the value.
      if case .json(let text) = values, let value = Value(stored: text) {
        given = value
      } else {
        given = Value(stored: sample) ?? given
        if case .json = values { refusesJSON = true }
      }
    }
    if case .nothing = values, json != nil, Value.isOptionalAttribute {
      given = .placeholder
      isCut = true
    }
    // A property that the root itself declares needs no samples: its key path identifies it.
    if names.count > 1 || isInherited {
      let samples = Value.samples
      sampleCount = samples.count
      if case .sample(let number) = values, !samples.isEmpty { given = samples[number % samples.count] }
    }
    isLast = { value, type in
      guard type == Value.self || type == Value?.self else { return false }
      guard let stored = try? given.stored(), let value = value as? Value else { return false }
      return (try? value.stored()).map { $0.isStored(as: stored) } == true
    }
    return given
  }

  func target<Target: ManagedObject>(
    of object: ManagedObject, slot: Int, _ property: () -> AnyKeyPath
  ) -> Target? {
    note(object, slot: slot, property)
    readsToOne = true
    if case .nothing = values { isCut = true }
    // A computed property may read a to-one repeatedly, with a `!` after it. So each read returns an
    // object.
    guard !isCut, names.count < Self.maximumReads else {
      isLast = { value, _ in value.flatMap(unwrapped) == nil }
      return nil
    }
    let target = prototype(Target.self)
    links.append(\Target?.!)
    isLast = { value, type in
      (type == Target?.self || type == Target.self) && value as? Target === target
    }
    return target
  }

  func members<Members: Equatable>(
    of object: ManagedObject, slot: Int, target: ManagedObject.Type, _ property: () -> AnyKeyPath,
    _ make: ([ManagedObject]) -> Members
  ) -> Members {
    note(object, slot: slot, property)
    sampleCount = 1
    var given = make([])
    if isChain, case .sample = values { given = make([prototype(target), prototype(target)]) }
    // A path cannot continue from a member.
    expected = nil
    isLast = { value, type in
      guard type == Members.self || type == Members?.self else { return false }
      return value as? Members == given
    }
    return given
  }

  func noteID<ID>(of object: ManagedObject, _ id: ID.Type, _ property: () -> AnyKeyPath) {
    note(object, name: KeyPathResolver.idName, property)
    let rowID = object.rowID
    isLast = { value, type in
      guard type == ID.self || type == ID?.self else { return false }
      return (value.flatMap(unwrapped) as? any ObjectNaming)?.rowID == rowID
    }
  }
}

/// Any optional.
protocol OptionalValue { var content: Any? { get } }
extension Optional: OptionalValue {
  var content: Any? { map { $0 as Any } }
}

extension AttributeValue {
  /// A value that makes few computed properties trap; 0 and nil make more of them trap.
  fileprivate static var plain: Self {
    attributeType.plain.flatMap { Self(stored: $0) } ?? placeholder
  }

  /// Values that computed properties may test for, and values that are far apart: few computed properties
  /// return all of them unchanged. Small numbers come first, as a calculation may trap on large ones.
  static var samples: [Self] {
    // The samples of an enum are all its cases. The numbers or strings below would represent only some of
    // them.
    if let cases = (Self.self as? any CaseIterable.Type)?.values as? [Self] { return cases }
    if isOptionalAttribute,
      let wrapped = (Self.self as? any OptionalAttribute.Type)?.wrappedSamples as? [Self]
    {
      return wrapped + [placeholder]
    }
    let samples = attributeType.samples.compactMap { Self(stored: $0) }
    if !samples.isEmpty { return samples }
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
    switch traits.storage {
    case .integer where traits.isTruth: [1, 0]
    case .integer(let range): Self.samples(range).map { .integer($0) }
    case .real(isSingle: true): [0, 1, 0.125, -1, 1_000_001.5, -2_000_003.25]
    case .real(isSingle: false): [0, 1, 0.0625, -1, .real(1e12 + 0.125), .real(-2e12 - 0.375)]
    case .text(.decimal): ["0", "1", "0.5", "-1", "123456789012345678901.25", "-987654321098765432109.75"]
    case .text(.any): ["", "a", "B", longText]
    case .text(.uuid):
      [
        "00000000-0000-0000-0000-000000000000", "5A3C8E0E-0000-4000-8000-1234567890AB",
        "FFFFFFFF-FFFF-4FFF-8FFF-FFFFFFFFFFFF",
      ]
    case .text(.url): ["file:///", "https://User@Example.com:8080/A/b?c=d#E", "file:///x/y"]
    case .text(.json): []
    case .blob: [.blob(Data()), .blob(Data([0, 255, 7]))]
    }
  }

  /// The second of ``samples``, made without the others: each property in a key path needs it.
  fileprivate var plain: SQLValue? {
    switch traits.storage {
    case .integer where traits.isTruth: return 0
    case .integer(let range) where range.contains(0) && range.contains(1): return 1
    case .real: return 1
    case .text(.any): return "a"
    case .integer, .text, .blob:
      let samples = samples
      return samples.count > 1 ? samples[1] : nil
    }
  }

  /// Returns small numbers, a large one, and a large negative one if the range has such numbers. Neither
  /// of the two large numbers is the negative of the other.
  private static func samples(_ range: ClosedRange<Int64>) -> [Int64] {
    let high = min(range.upperBound - range.upperBound / 8, 7_000_000_000_000_001)
    let low = max(range.lowerBound - range.lowerBound / 6, -9_000_000_000_000_003)
    return [0, 1, 3, -1].filter(range.contains) + [high] + (low < 0 ? [low] : [])
  }
}

extension SQLValue {
  /// For JSON, copies with other strings, other numbers or both, and then the value itself. For any other
  /// value, the value itself.
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
