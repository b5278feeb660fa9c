// Sample values that the Swift side of a schema accepts, for generating test data.

internal import CipherSQLite

extension Schema {
  /// Returns sample values that the Swift type of an attribute accepts: the cases of an enum, or JSON of
  /// a structure. nil when the Swift type accepts all values of the attribute type or has no samples, and
  /// when the entity has no class.
  package func samples(of attribute: String, in entity: String) -> [SQLValue]? {
    guard let reader = bindings[entity]?.reader(of: attribute), reader.isNarrow else { return nil }
    let samples = reader.samples()
    return samples.isEmpty ? nil : samples
  }

  /// Returns values at the limits of a property's rules, such as the bounds of a range.
  package func ruleSamples(of attribute: AttributeDescription, in entity: String) -> [SQLValue] {
    let rules = bindings[entity]?.checks(of: attribute.name) ?? []
    return rules.flatMap(\.samples).compactMap { sample in
      if case .real(let number) = sample, attribute.type.isInteger {
        return Int64(exactly: number).flatMap { try? attribute.type.stored(.integer($0)) }
      }
      return try? attribute.type.stored(sample)
    }
  }

  /// Returns whether a value satisfies all rules of a property.
  package func keepsRules(_ value: SQLValue, attribute: String, in entity: String) -> Bool {
    (bindings[entity]?.checks(of: attribute) ?? []).allSatisfy { $0.holds(value) }
  }
}
