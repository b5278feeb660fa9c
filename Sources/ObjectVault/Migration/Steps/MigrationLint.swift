// Lint: findings about steps for a reviewer, by rules with stable codes.

internal import CipherSQLite

extension MigrationSet {
  /// Returns the findings about the steps that a reviewer should look at.
  ///
  /// Pure: needs no store. The cost is about that of compiling each step twice.
  /// - Parameter version: Only steps above this version are checked, since released steps cannot be changed.
  /// - Returns: The findings, in the order of the steps.
  /// - Throws: The errors of ``model(at:)``.
  public func findings(after version: Int = 0) throws -> [MigrationFinding] {
    var model = try model(at: version)
    var findings: [MigrationFinding] = []
    var former = FormerNames(steps.prefix(max(0, version)))
    for step in steps.dropFirst(max(0, version)) {
      defer { for operation in step.operations { former.follow(operation, of: step.number) } }
      guard !step.isFolded else {
        model = try step.applied(to: model)
        continue
      }
      let lint = try StepLint(step, from: model, former: former)
      findings += try step.number > 1 ? lint.findings() : lint.findingsWithoutRows()
      model = lint.compiled.model
    }
    return findings
  }
}

extension MigrationSet {
  /// Returns a finding for each former name in a schema, by ``Entity/renamed(from:)`` or
  /// ``AttributeOption/renamed(from:)``, whose renaming a step has done already. The hint has served its
  /// purpose. If a new property or entity gets the former name and is removed later, the hint makes the
  /// removal look like a renaming.
  ///
  /// Pure: needs no store.
  /// - Parameter schema: The schema of the classes.
  /// - Returns: A finding for each hint to remove.
  public func findings(of schema: Schema) -> [MigrationFinding] {
    schema.entities.flatMap { entity -> [MigrationFinding] in
      let binding = schema.bindings[entity.name]
      let ofEntity = binding?.formerEntityName.flatMap { former in
        served(former, as: entity.name, in: "the schema") {
          if case .renamedEntity(former, to: entity.name) = $0 { true } else { false }
        }
      }
      let ofProperties = entity.propertyNames.compactMap { name in
        binding?.formerName(of: name).flatMap { former in
          served(former, as: "\(entity.name).\(name)", in: "the class") {
            if case .renamed(_, former, to: name, _) = $0 { true } else { false }
          }
        }
      }
      return (ofEntity.map { [$0] } ?? []) + ofProperties
    }
  }

  /// The finding that a hint can be removed; nil if no step contains the renaming.
  private func served(
    _ former: String, as path: String, in place: String, renames: (OperationSubject) -> Bool
  ) -> MigrationFinding? {
    for step in steps.reversed() {
      for operation in step.operations where renames(operation.subject) {
        return MigrationFinding(
          rule: .renamingIsDone, step: step.number, file: step.fileName, line: step.line(of: operation),
          operation: operation.summary,
          text: "\(path) is renamed by this step; remove .renamed(from: \"\(former)\") from \(place)")
      }
    }
    return nil
  }
}

/// The lint rules, applied to one step.
struct StepLint {
  private let step: MigrationStep
  private let before: Schema
  private let former: FormerNames
  /// Compiled for the engine of this process.
  let compiled: CompiledStep

  init(_ step: MigrationStep, from before: Schema, former: FormerNames) throws {
    (self.step, self.before, self.former) = (step, before, former)
    compiled = try step.compiled(from: before, engine: .current)
  }

  func findings() throws -> [MigrationFinding] {
    try losses() + head() + operations() + pairs() + deniedDeletions() + rebuilds() + rollback()
  }

  /// The findings about a first step, which meets no rows.
  func findingsWithoutRows() throws -> [MigrationFinding] {
    try (head() + operations() + pairs()).filter(\.rule.holdsWithoutRows)
  }

  func finding(
    _ rule: MigrationFinding.Rule, about operation: MigrationOperation?, _ text: String, at index: Int? = nil
  ) -> MigrationFinding {
    MigrationFinding(
      rule: rule, step: step.number, file: step.fileName,
      line: index.map { step.lines[$0] } ?? operation.flatMap(step.line), operation: operation?.summary,
      text: text)
  }

  private func losses() -> [MigrationFinding] {
    let parts = compiled.parts.filter { $0.operations.count == 1 }
    return compiled.unallowedLosses.map { loss in
      let isEntity = !loss.contains(".")
      let operation =
        step.operations.first { $0.subject.lost == loss }
        ?? parts.first { $0.losses.contains(loss) }?.operations.first
      return finding(
        isEntity ? .dropsEntity : .dropsProperty, about: operation,
        "\(lossText(loss, compiled.emptied)) is permanently lost; if that is intended, write into the head: "
          + "allow: lossy:\(loss)"
      )
    }
  }

  /// Findings about the head: a name other than that of the file, and an allowed loss that the step does
  /// not have.
  private func head() -> [MigrationFinding] {
    let name = step.statedName.map { name in
      finding(
        .namedOtherwise, about: nil,
        "its head has the name \(name.isEmpty ? "\"\"" : name), which is not the name of the file; write: "
          + "name: \(step.name)")
    }
    let allowed = step.allowed.compactMap(MigrationStep.loss(allowedBy:))
    return [name].compactMap { $0 }
      + allowed.filter { !compiled.losses.contains($0) }.map { name in
        let others = didYouMean(nearest(name, among: compiled.unallowedLosses))
        return finding(
          .allowsNoLoss, about: nil,
          "it allows lossy:\(name), but loses nothing of that name; \(others ?? "remove that from the head")")
      }
  }

  private func operations() throws -> [MigrationFinding] {
    var (findings, model, new): ([MigrationFinding], Schema, Set<String>) = ([], before, [])
    var former = former
    for (index, operation) in step.operations.enumerated() {
      let rules = operation.rules
      let place = OperationContext(
        step: step, before: before, model: model, new: new, former: former,
        earlier: step.operations.prefix(index), later: step.operations.dropFirst(index + 1))
      findings += rules.remarks(place).map { finding($0.rule, about: operation, $0.text, at: index) }
      if place.hasOlderReaders, rules.traits.breaksReaders {
        findings.append(
          finding(
            .readerTooOld, about: operation,
            "reader: \(step.reader) lets programs of that version open the store, but these do not support "
              + "this operation",
            at: index))
      }
      former.follow(operation, of: step.number)
      let earlier = model
      try operation.apply(to: &model)
      findings += movedLinks(operation, from: earlier, to: model)
      new.follow(rules.subject)
    }
    return findings
  }

  /// Findings about new to-manys without an inverse that may be meant as the inverse of another
  /// relationship.
  private func pairs() -> [MigrationFinding] {
    let known = Set(before.unpairedMembers)
    return compiled.model.unpairedMembers.filter { !known.contains($0) }.map { members in
      let operation = step.operations.last { operation in
        switch operation.subject {
        case .madeEntity(let entity):
          [members.entity, members.relationship.destination].contains(entity.name)
        case .made(let entity, let name, _):
          entity == members.entity && name == members.relationship.name
            || entity == members.relationship.destination && members.candidateInverses.contains(name)
        default: false
        }
      }
      return finding(
        .mayBePaired, about: operation, "\(members.sentence), write: relationship \(members.stepText)")
    }
  }

  /// Findings about join tables that older programs do not find: a new inverse may rename one, or move the
  /// links elsewhere.
  private func movedLinks(_ operation: MigrationOperation, from before: Schema, to after: Schema)
    -> [MigrationFinding]
  {
    guard step.reader < step.number, !operation.rules.traits.breaksReaders else { return [] }
    let kept = Set(after.joinTables)
    return before.joinTables.filter { !kept.contains($0) }.map { join in
      finding(
        .readerTooOld, about: operation,
        "reader: \(step.reader) lets programs of that version open the store, but these look for the links "
          + "of \(join.source).\(join.relationship) where they no longer are")
    }
  }

  /// Findings about new foreign keys to existing tables with NO ACTION: if an older program deletes a
  /// referenced row, its save fails.
  private func deniedDeletions() -> [MigrationFinding] {
    guard step.reader < step.number else { return [] }
    let former = Dictionary(before.tables.map { ($0.name, $0.foreignKeys) }) { first, _ in first }
    return compiled.model.tables.flatMap { table in
      table.foreignKeys.filter { key in
        key.onDelete == "NO ACTION" && former[key.table] != nil && former[table.name]?.contains(key) != true
      }.map { key in
        finding(
          .readerTooOld, about: nil,
          "reader: \(step.reader) lets programs of that version open the store, but their deletions of "
            + "\(key.table) fail while \(table.name).\(key.column) refers to the row; to prevent that, "
            + "give the inverse on delete cascade")
      }
    }
  }

  private func rebuilds() throws -> [MigrationFinding] {
    guard let oldest = Engine(sqliteVersion: "3.15.2") else { return [] }
    let isOldest = Engine.current.sqliteVersion == oldest.sqliteVersion
    let old = isOldest ? compiled : try step.compiled(from: before, engine: oldest)
    // A table is copied once in a segment. The finding names the first operation that requires the copy.
    var causes: [(operation: MigrationOperation?, tables: [String])] = []
    for rebuild in old.parts.flatMap({ $0.rebuilds(oldest) }) {
      let cause = rebuild.operations.first
      if let known = causes.firstIndex(where: { $0.operation == cause }) {
        if !causes[known].tables.contains(rebuild.table) { causes[known].tables.append(rebuild.table) }
      } else {
        causes.append((cause, [rebuild.table]))
      }
    }
    return causes.map { operation, tables in
      let verb = tables.count == 1 ? "is" : "are"
      return finding(
        .rebuildsTable, about: operation,
        "on SQLCipher 3, \(tables.joined(separator: ", ")) \(verb) copied completely")
    }
  }

  private func rollback() throws -> [MigrationFinding] {
    guard step.irreversible == nil,
      case .none(let reason) = try step.rollback(from: before, to: compiled.model)
    else { return [] }
    return [
      finding(
        .irreversible, about: nil,
        "the step cannot be rolled back: \(reason); write [down] with operations, or with irreversible "
          + "\"why\"")
    ]
  }
}
