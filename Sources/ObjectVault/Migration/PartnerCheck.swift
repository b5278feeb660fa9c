// One-to-one: both ends have a column, and each says what the other says. Saving sees to that; SQL from outside need not.

internal import CipherSQLite

/// Rows of one end whose partners do not lead back to them.
struct PartnerFinding: Equatable, CustomStringConvertible {
  /// Such as `Author.passport`, and the other end, `Passport.owner`.
  let property: String
  let inverse: String
  let bad: Int
  let total: Int
  /// The ids of the first rows, those of the end that `property` belongs to.
  let rows: [Int64]

  var description: String {
    "\(bad) of \(counted(total, "value")) of \(property) \(bad == 1 ? "is" : "are") not returned by \(inverse): "
      + "row\(bad == 1 ? "" : "s") \(rows.map(String.init).joined(separator: ", "))"
      + (bad > rows.count ? " and more" : "")
  }
}

struct PartnerCheck {
  let model: Schema

  /// What one end says and the other does not, of both ends of each one-to-one. References that lead nowhere are
  /// ReferenceCheck's.
  func findings(_ connection: Connection) throws -> [PartnerFinding] {
    try model.entities.flatMap { entity in
      try entity.relationships.compactMap { try finding($0, of: entity, connection) }
    }
  }

  /// The ends of one-to-ones.
  fileprivate var properties: Set<String> {
    Set(
      model.entities.flatMap { entity in
        entity.relationships.filter { model.isOneToOne(entity.name, $0.name) }.map {
          "\(entity.name).\($0.name)"
        }
      })
  }

  private func finding(
    _ relationship: RelationshipDescription, of entity: EntityDescription, _ connection: Connection
  ) throws -> PartnerFinding? {
    guard let inverse = relationship.inverse, model.isOneToOne(entity.name, relationship.name) else {
      return nil
    }
    let column = SQLName(relationship.columnName)
    let back = SQLName(RelationshipDescription.columnName(inverse))
    let (table, other) = (
      SQLName(model.root(of: entity.name)), SQLName(model.root(of: relationship.destination))
    )
    let pairs: SQL = "FROM \(table) o JOIN \(other) p ON p.\"id\" = o.\(column)"
    let counts = try connection.rows("SELECT count(*), total(p.\(back) IS NOT o.\"id\") \(pairs)").first
    guard let bad = counts?.last?.int64, bad > 0 else { return nil }
    let rows = try connection.query(
      "SELECT o.\"id\" \(pairs) WHERE p.\(back) IS NOT o.\"id\" ORDER BY 1 LIMIT 5"
    ) { $0.int64(0) }
    return PartnerFinding(
      property: "\(entity.name).\(relationship.name)", inverse: "\(relationship.destination).\(inverse)",
      bad: Int(bad), total: Int(counts?.first?.int64 ?? 0), rows: rows)
  }
}

/// What the steps of a transaction do to one-to-ones. Asked behind all of them, as one block may write one end and another
/// one the other, and one step and the next.
struct PartnerWatch {
  private let check: PartnerCheck
  /// How many rows of each property were damaged before, by the names behind the steps; those without any are left out.
  private let before: [String: Int]
  private let step: MigrationStep
  private let operation: String
  /// Whether no block of the step wrote anything: what is wrong then is in the rows, and not in what its author wrote.
  private let isOfRows: Bool

  /// - Parameters:
  ///   - steps: In the order in which they run.
  ///   - model: That before them, whose tables are there.
  /// - Returns: nil where they can damage none.
  init?(_ steps: [CompiledStep], from model: Schema, _ connection: Connection) throws {
    guard let last = steps.last else { return nil }
    check = PartnerCheck(model: last.model)
    let (former, properties) = (PartnerCheck(model: model), check.properties)
    guard !properties.isEmpty else { return nil }
    // What is a one-to-one now may have been filled out of what was there, which led to one object twice.
    let isMade = !properties.isSubset(of: former.properties)
    let writing = steps.map { step in
      (
        step.step,
        step.parts.filter { part in
          part.isData
            ? !part.isRequirement
            : !part.filled.isEmpty || isMade && part.makesOneToOnes
        }
      )
    }
    guard let writer = writing.last(where: { !$0.1.isEmpty }) else { return nil }
    step = writer.0
    isOfRows = !writer.1.contains { $0.isData && !$0.isRequirement }
    var names: [String] = []
    for part in writer.1.flatMap(\.operations) where !names.contains(part.summary) {
      names.append(part.summary)
    }
    operation = names.joined(separator: "; ")
    let damaged = try former.findings(connection)
    before = try Self.damage(damaged, behind: steps, from: model)
  }

  /// Damage by the names that properties have behind some steps. That of a property which is dropped goes with it, and leaves
  /// no room for damage elsewhere.
  private static func damage(
    _ findings: [PartnerFinding], behind steps: [CompiledStep], from model: Schema
  ) throws -> [String: Int] {
    guard !findings.isEmpty else { return [:] }
    let damaged = Dictionary(findings.map { ($0.property, $0.bad) }) { first, _ in first }
    var (mapping, model) = (SegmentMapping(model), model)
    // What the rows of entities bring along that others get, by the names that these have then.
    var brought: [String: Int] = [:]
    for step in steps.map(\.step) {
      for operation in step.operations {
        if case .mergedEntity(let name, let new?) = operation.subject, let former = mapping.entities[name] {
          for (property, formerName) in mapping.formerNames(of: name) {
            brought["\(new).\(property)", default: 0] += damaged["\(former).\(formerName)"] ?? 0
          }
        }
        do {
          try mapping.follow(operation, model)
          try operation.apply(to: &model)
        } catch { throw step.failed(operation, error.reason) }
      }
    }
    return mapping.entities.reduce(into: brought) { found, entity in
      for (property, former) in mapping.formerNames(of: entity.key) {
        guard let bad = damaged["\(entity.value).\(former)"] else { continue }
        found["\(entity.key).\(property)", default: 0] += bad
      }
    }
  }

  /// - Throws: ``StoreError/migrationFailed(step:name:operation:reason:)`` where more is damaged than was before: with that
  ///   the store may have been opened. ``StoreError/rowsRefused(step:name:operation:reason:)`` where the step only made the
  ///   tables that the rows do not fit.
  func requireNoDamage(_ connection: Connection) throws {
    let after = try check.findings(connection)
    let fresh = after.filter { $0.bad > before[$0.property] ?? 0 }
    guard !fresh.isEmpty else { return }
    let reason =
      fresh.prefix(4).map(\.description).joined(separator: "; ")
      + "; each end of a one-to-one says what the other says"
    throw isOfRows
      ? step.refused(operation, reason + ": no object is led to by two; let one of them lead there before")
      : step.failed(operation, reason + ": write both, as in " + advice(fresh[0]))
  }

  /// What fills one end out of the other.
  private func advice(_ finding: PartnerFinding) -> String {
    let entity = finding.inverse.prefix { $0 != "." }
    let other = finding.property.prefix { $0 != "." }
    return
      "transform sql { UPDATE $\(entity) SET $\(finding.inverse) = (SELECT $\(other).id FROM $\(other) WHERE "
      + "$\(finding.property) = $\(entity).id) }"
  }
}

extension CompiledStep.Part {
  /// Whether a to-one has another end behind it than before, of which it is the only one.
  fileprivate var makesOneToOnes: Bool {
    !PartnerCheck(model: model).properties.isSubset(of: PartnerCheck(model: before).properties)
  }
}

extension Schema {
  /// Whether a property is a to-one whose other end is one, too: who leads to an object is led to by it, and by nobody else.
  func isOneToOne(_ entity: String, _ name: String) -> Bool {
    guard let relationship = self.entity(named: entity)?.relationship(named: name), !relationship.isToMany,
      let inverse = relationship.inverse
    else { return false }
    return self.entity(named: relationship.destination)?.relationship(named: inverse)?.isToMany == false
  }
}
