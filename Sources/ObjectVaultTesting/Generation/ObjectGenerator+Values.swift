// The attribute values of generated objects.

internal import CipherSQLite
internal import Foundation
internal import ObjectVault

extension ObjectGenerator {
  /// How many other values are tried when a unique one is already in use.
  private static let attempts = 64

  mutating func objects(of entity: EntityDescription) throws(ObjectShortage) -> [GeneratedObjects.Object] {
    let line = schema.ancestors(of: entity) + [entity]
    for owner in line where taken[owner.name] == nil {
      // Keys with to-ones are checked later, when the to-ones are linked.
      let names = Set(schema.flattened(owner).attributes.map(\.name))
      taken[owner.name] = TakenKeys(owner.uniqueKeys.filter { names.isSuperset(of: $0) })
    }
    let sources = line.flatMap { self.sources[$0.name] ?? [] }
    var objects: [GeneratedObjects.Object] = []
    for number in 0..<(counts[entity.name] ?? 0) {
      var values: [String: SQLValue] = [:]
      for source in sources { values[source.name] = source.value(number, using: &random) }
      try separate(&values, number: number, of: schema.flattened(entity), sources: sources, line: line)
      let compared = values.mapValues(\.compared)
      for owner in line { taken[owner.name]?.take(compared) }
      objects.append(GeneratedObjects.Object(entity: entity.name, number: number, values: values))
    }
    return objects
  }

  /// Changes values until no unique key has a conflict.
  /// - Throws: ``ObjectShortage`` when no free value is found.
  private mutating func separate(
    _ values: inout [String: SQLValue], number: Int, of entity: EntityDescription, sources: [ValueSource],
    line: [EntityDescription]
  ) throws(ObjectShortage) {
    let taken = line.compactMap { self.taken[$0.name] }
    func conflict() -> [String]? {
      let compared = values.mapValues(\.compared)
      for keys in taken { if let key = keys.conflict(of: compared) { return key } }
      return nil
    }
    for attempt in 0..<Self.attempts {
      guard let key = conflict() else { return }
      for source in sources where key.contains(source.name) {
        values[source.name] = source.otherValue(number, attempt: attempt, using: &random)
      }
    }
    // nil causes no conflict, and may occur any number of times.
    while let key = conflict() {
      guard let free = key.first(where: { entity.attribute(named: $0)?.isOptional == true }) else {
        throw ObjectShortage(entity: entity.name, possible: number)
      }
      values[free] = nil
    }
  }
}

extension SQLValue {
  /// The value as a unique index compares it: decimals by their number, texts by their bytes.
  fileprivate var compared: SQLValue {
    guard case .text(let text) = self else { return self }
    if let first = text.utf8.first, first == 0x2D || (0x30...0x39).contains(first), text.utf8.count < 40,
      text.utf8.allSatisfy({ $0 == 0x2D || $0 == 0x2E || (0x30...0x39).contains($0) }),
      let number = Decimal(string: text)
    {
      return .text("\(number)")
    }
    // Swift treats canonically equivalent texts as equal although their bytes differ.
    return .blob(Data(text.utf8))
  }
}
