// The source of the values of one attribute: given values, the cases of a Swift type, or edge cases.

internal import CipherSQLite
internal import ObjectVault

struct ValueSource: Sendable {
  /// The number of alternative values that are set aside for each object: see `otherValue`.
  private static let attempts = 64

  let name: String
  private let attribute: AttributeDescription
  private let candidates: [SQLValue]
  /// Whether only the candidates may be used.
  private let isClosed: Bool
  /// The index of the first candidate. It depends on the name, so that attributes of one type have
  /// different values.
  private let offset: Int
  private let accepts: @Sendable (SQLValue) -> Bool

  /// Returns the sources of all attributes, by entity.
  /// - Throws: ``CheckFailure`` when a required attribute has no possible value.
  static func all(
    of schema: Schema, _ given: [String: [SQLValue]], _ rules: [String: GeneratedObjects.Rule]
  ) throws(CheckFailure) -> [String: [ValueSource]] {
    var sources: [String: [ValueSource]] = [:]
    for entity in schema.entities {
      for attribute in entity.attributes {
        let name = "\(entity.name).\(attribute.name)"
        let source = ValueSource(
          attribute, of: entity.name, in: schema, given: given[name], rule: rules[name])
        guard attribute.isOptional || source.any(0) != nil else {
          throw CheckFailure(
            "GeneratedObjects", at: name,
            findings: ["no generated \(attribute.type.rawValue) satisfies its rules"],
            advice: "Give its possible values: values: [\"\(name)\": […]].")
        }
        sources[entity.name, default: []].append(source)
      }
    }
    return sources
  }

  private init(
    _ attribute: AttributeDescription, of entity: String, in schema: Schema, given: [SQLValue]?,
    rule: GeneratedObjects.Rule?
  ) {
    self.attribute = attribute
    name = attribute.name
    offset = name.unicodeScalars.reduce(0) { ($0 * 31 + Int($1.value)) % 1_009 }
    let name = attribute.name
    accepts = { schema.keepsRules($0, attribute: name, in: entity) && rule?($0) != false }
    let samples = schema.samples(of: attribute.name, in: entity)
    let own = samples ?? attribute.type.edgeValues + schema.ruleSamples(of: attribute, in: entity)
    var seen: Set<SQLValue> = []
    let kept = (given ?? own).filter { seen.insert($0).inserted }.filter(accepts)
    // Given values may all break the rules of a class. They are used all the same, because the test chose
    // them.
    candidates = kept.isEmpty ? given ?? [] : kept
    isClosed = given != nil || samples != nil
  }

  /// Returns the value of an object. The first object has no optional values, and the second has all of
  /// them, with plain values. The other objects have any values.
  func value(_ number: Int, using random: inout SeededRandom) -> SQLValue? {
    if attribute.isOptional, number == 0 || (number > 1 && Int.random(in: 0..<4, using: &random) == 0) {
      return nil
    }
    if attribute.isUnique, !isClosed, number >= candidates.count { return made(number) ?? any(number) }
    return number <= 1 && !attribute.isUnique ? candidates.first ?? made(number) : any(number + shift)
  }

  private var shift: Int { attribute.isUnique ? 0 : offset }

  /// Returns another value, which depends on the number of the attempt.
  func otherValue(_ number: Int, attempt: Int, using random: inout SeededRandom) -> SQLValue? {
    if !isClosed, let value = made(number * Self.attempts + attempt) { return value }
    return candidates.randomElement(using: &random)
  }

  private func any(_ number: Int) -> SQLValue? {
    candidates.isEmpty ? made(number) : candidates[number % candidates.count]
  }

  /// Returns a value that no other object has and that keeps the rules; nil when there is none.
  private func made(_ number: Int) -> SQLValue? {
    guard !isClosed else { return nil }
    return attribute.type.distinctValues(number).first(where: accepts)
  }
}
