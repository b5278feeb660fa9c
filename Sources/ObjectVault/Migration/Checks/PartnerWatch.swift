// What steps do to one-to-ones: who is to blame where both ends do not say the same behind them.

internal import CipherSQLite

/// What the steps of a transaction do to one-to-ones. Asked behind all of them, as one block may write one end and another
/// one the other, and one step and the next.
struct PartnerWatch {
  private let check: PartnerCheck
  /// How many rows of each property were damaged before, by the names behind the steps; those without any are left out.
  private let before: [String: Int]
  /// The last step that made one-to-ones out of what was there, and the operations by which it did.
  private let maker: (step: MigrationStep, place: RunPlace, operation: String)?
  /// The last step that wrote anything, for damage of which nobody knows more.
  private let writer: (step: MigrationStep, place: RunPlace, operation: String)

  /// - Parameters:
  ///   - steps: In the order in which they run.
  ///   - model: That before them, whose tables are there.
  /// - Returns: nil where they can damage none.
  init?(_ steps: [CompiledStep], from model: Schema, _ connection: Connection) throws {
    guard let last = steps.last else { return nil }
    check = PartnerCheck(model: last.model)
    guard !check.properties.isEmpty else { return nil }
    maker = Self.last(of: steps, where: \.makesOneToOnes)
    let writer = Self.last(of: steps) { $0.isData ? !$0.isRequirement : !$0.filled.isEmpty }
    guard let writer = writer ?? maker else { return nil }
    self.writer = writer
    let damaged = try PartnerCheck(model: model).findings(connection)
    before = try Self.damage(damaged, behind: steps, from: model)
  }

  private static func last(of steps: [CompiledStep], where isMeant: (CompiledStep.Part) -> Bool) -> (
    step: MigrationStep, place: RunPlace, operation: String
  )? {
    for (place, step) in steps.enumerated().reversed() {
      // As they are counted when they run: a new store is asked for no requirement.
      let parts = step.parts.filter { !$0.isRequirement }
      let operations = parts.filter(isMeant).flatMap(\.operations).map(\.summary)
      guard !operations.isEmpty, let part = parts.lastIndex(where: isMeant) else { continue }
      var names: [String] = []
      for operation in operations where !names.contains(operation) { names.append(operation) }
      return (step.step, RunPlace(step: place, part: part), names.joined(separator: "; "))
    }
    return nil
  }

  /// Damage by the names that properties have behind some steps. That of a property which is dropped goes with it, and leaves
  /// no room for damage elsewhere.
  private static func damage(
    _ findings: [PartnerFinding], behind steps: [CompiledStep], from model: Schema
  ) throws -> [String: Int] {
    guard !findings.isEmpty else { return [:] }
    let damaged = Dictionary(findings.map { ($0.property, $0.bad) }) { first, _ in first }
    var (mapping, model) = (SegmentMapping(model), model)
    var brought = BroughtDamage()
    for step in steps.map(\.step) {
      for operation in step.operations {
        if case .mergeEntities(let merge) = operation {
          brought.move(by: merge)
          if let former = mapping.entities[merge.source] {
            for (property, formerName) in mapping.formerNames(of: merge.source) {
              brought.add(damaged["\(former).\(formerName)"] ?? 0, of: property, by: merge)
            }
          }
        }
        brought.follow(operation.subject)
        do {
          try mapping.follow(operation, model)
          try operation.apply(to: &model)
        } catch { throw step.failed(operation, error.reason) }
      }
    }
    return mapping.entities.reduce(into: brought.counts) { found, entity in
      for (property, former) in mapping.formerNames(of: entity.key) {
        guard let bad = damaged["\(entity.value).\(former)"] else { continue }
        found["\(entity.key).\(property)", default: 0] += bad
      }
    }
  }

  /// - Parameter audit: Knows what was written.
  /// - Throws: ``StoreError/migrationFailed(step:name:operation:reason:)`` where more is damaged than was before: with that
  ///   the store may have been opened. ``StoreError/rowsRefused(step:name:operation:reason:)`` where a step only made the
  ///   tables that the rows do not fit.
  func requireNoDamage(_ connection: Connection, _ audit: RowAudit) throws {
    let fresh = try check.findings(connection).filter { $0.bad > before[$0.property] ?? 0 }
    guard let first = fresh.first else { return }
    let reason =
      fresh.prefix(4).map(\.description).joined(separator: "; ")
      + "; each end of a one-to-one says what the other says"
    let (step, operation, remedy) = blamed(for: first, audit)
    throw remedy.map { step.refused(operation, "\(reason): \($0)") }
      ?? step.failed(operation, reason + ": write both, as in " + Self.advice(first))
  }

  /// Who wrote either end, unless a step behind that made a pair of them: then what is wrong is in the rows, and not in what its
  /// author wrote. One value that fills all rows is refused as the rows are.
  private func blamed(for finding: PartnerFinding, _ audit: RowAudit) -> (
    MigrationStep, String, remedyForRows: String?
  ) {
    // What makes the pairs may write an end as well.
    let place = maker?.place ?? .before
    if let wrote = audit.lastWriter(of: [finding.end, finding.back], check.model), wrote.place >= place {
      return (
        wrote.step, wrote.operation, wrote.filled.map { FillingAdvice.oneToOne($0.entity, $0.name) }
      )
    }
    return maker.map {
      ($0.step, $0.operation, "no object is led to by two; let one of them lead there before")
    } ?? (writer.step, writer.operation, nil)
  }

  /// What fills one end out of the other.
  private static func advice(_ finding: PartnerFinding) -> String {
    let (entity, other) = (finding.back.entity, finding.end.entity)
    return
      "transform sql { UPDATE $\(entity) SET $\(finding.back) = (SELECT other.id FROM $\(other) AS other WHERE "
      + "other.$\(finding.end) = $\(entity).$\(entity).id) }"
  }
}

/// What the rows of entities that are merged bring along, by the names that the properties have since.
private struct BroughtDamage {
  private(set) var counts: [String: Int] = [:]

  mutating func add(_ count: Int, of property: String, by merge: EntityMerge) {
    guard count > 0 else { return }
    let name = merge.pairs.first { $0.name == property }?.new ?? property
    counts["\(merge.destination).\(name)", default: 0] += count
  }

  /// What an earlier merge brought to the entity that goes now, goes along with its own.
  mutating func move(by merge: EntityMerge) {
    let prefix = merge.source + "."
    for (property, count) in counts where property.hasPrefix(prefix) {
      counts[property] = nil
      add(count, of: String(property.dropFirst(prefix.count)), by: merge)
    }
  }

  mutating func follow(_ subject: OperationSubject) {
    switch subject {
    case .renamed(let entity, let name, let new, _):
      counts["\(entity).\(new)"] = counts.removeValue(forKey: "\(entity).\(name)")
    case .dropped(let entity, let name, _): counts["\(entity).\(name)"] = nil
    case .renamedEntity(let name, let new):
      counts = counts.reduce(into: [:]) { counts, count in
        let isMeant = count.key.hasPrefix("\(name).")
        counts[isMeant ? new + count.key.dropFirst(name.count) : count.key] = count.value
      }
    case .droppedEntity(let name): counts = counts.filter { !$0.key.hasPrefix("\(name).") }
    default: break
    }
  }
}

extension CompiledStep.Part {
  /// Whether a to-one has another end behind it than before, of which it is the only one.
  fileprivate var makesOneToOnes: Bool {
    guard !isData else { return false }
    let former = PartnerCheck(model: before).properties
    return model.entities.contains { entity in
      entity.relationships.contains {
        model.isOneToOne(entity.name, $0.name) && !former.contains(formerName(entity.name, $0.name))
      }
    }
  }

  private func formerName(_ entity: String, _ name: String) -> String {
    let mapping = compiler?.mapping
    return "\(mapping?.entities[entity] ?? entity).\(mapping?.former(entity, name) ?? name)"
  }
}
