// What the Swift side of a schema says of the values that it takes: for those who make values up.

internal import CipherSQLite

extension Schema {
  /// Values that the Swift type of an attribute takes, where it takes fewer than the attribute's type: the cases of an enum,
  /// JSON of a structure. nil where it takes all, and where there is no class.
  package func samples(of attribute: String, in entity: String) -> [SQLValue]? {
    guard let reader = bindings[entity]?.reader(of: attribute), reader.isNarrow else { return nil }
    let samples = reader.samples()
    return samples.isEmpty ? nil : samples
  }

  /// Values that the rules of a class are about, such as the limits of a range.
  package func ruleSamples(of attribute: AttributeDescription, in entity: String) -> [SQLValue] {
    let rules = bindings[entity]?.checks(of: attribute.name) ?? []
    return rules.flatMap(\.samples).compactMap { sample in
      if case .real(let number) = sample, attribute.type.isInteger {
        return Int64(exactly: number).flatMap { try? attribute.type.stored(.integer($0)) }
      }
      return try? attribute.type.stored(sample)
    }
  }

  /// Whether a value keeps all rules of a class.
  package func keepsRules(_ value: SQLValue, attribute: String, in entity: String) -> Bool {
    (bindings[entity]?.checks(of: attribute) ?? []).allSatisfy { $0.holds(value) }
  }
}
