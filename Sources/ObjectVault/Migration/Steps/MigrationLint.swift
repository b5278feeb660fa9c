// What a reviewer would ask about a step, by rules with codes that stay.

internal import CipherSQLite

extension MigrationSet {
  /// What a reviewer would ask about the steps.
  ///
  /// Pure: needs no store. The cost is that of compiling each step twice.
  /// - Parameter version: Only steps above it: what is released cannot be changed any more.
  /// - Throws: As ``model(at:)``.
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
      let lint = try StepLint(step, model, former)
      findings += try step.number > 1 ? lint.findings() : lint.findingsWithoutRows()
      model = lint.compiled.model
    }
    return findings
  }
}

extension MigrationSet {
  /// What a schema says of former names, by ``Entity/renamed(from:)`` and ``AttributeOption/renamed(from:)``, and steps have
  /// done: the hint has served, and would make a renaming of whatever is called so next.
  ///
  /// Pure: needs no store.
  /// - Parameter schema: That of the classes.
  public func findings(of schema: Schema) -> [MigrationFinding] {
    schema.entities.flatMap { entity -> [MigrationFinding] in
      let binding = schema.bindings[entity.name]
      let ofEntity = binding?.formerEntityName.flatMap { former in
        served(former, entity.name, "the schema") {
          if case .renamedEntity(former, to: entity.name) = $0 { true } else { false }
        }
      }
      let ofProperties = entity.propertyNames.compactMap { name in
        binding?.formerName(of: name).flatMap { former in
          served(former, "\(entity.name).\(name)", "the class") {
            if case .renamed(_, former, to: name, _) = $0 { true } else { false }
          }
        }
      }
      return (ofEntity.map { [$0] } ?? []) + ofProperties
    }
  }

  /// That a hint has served, where a step renames so.
  private func served(
    _ former: String, _ path: String, _ place: String, renames: (OperationSubject) -> Bool
  ) -> MigrationFinding? {
    for step in steps.reversed() {
      for operation in step.operations where renames(operation.subject) {
        return MigrationFinding(
          rule: .renamingIsDone, step: step.number, file: step.fileName, line: step.line(of: operation),
          operation: operation.summary,
          text: "\(path) is renamed by this step; take .renamed(from: \"\(former)\") out of \(place)")
      }
    }
    return nil
  }
}

/// The rules, for one step.
struct StepLint {
  private let step: MigrationStep
  private let before: Schema
  private let former: FormerNames
  /// For the engine of this process.
  let compiled: CompiledStep

  init(_ step: MigrationStep, _ before: Schema, _ former: FormerNames) throws {
    (self.step, self.before, self.former) = (step, before, former)
    compiled = try step.compiled(from: before, engine: .current)
  }

  func findings() throws -> [MigrationFinding] {
    try losses() + head() + operations() + pairs() + deniedDeletions() + rebuilds() + wayBack()
  }

  /// The same of a first step, which no rows can meet.
  func findingsWithoutRows() throws -> [MigrationFinding] {
    try (head() + operations() + pairs()).filter(\.rule.holdsWithoutRows)
  }

  func finding(
    _ rule: MigrationFinding.Rule, _ operation: MigrationOperation?, _ text: String, at index: Int? = nil
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
        isEntity ? .dropsEntity : .dropsProperty, operation,
        "\(lossText(loss, compiled.emptied)) is lost for good; when that is meant, write into the head: allow: lossy:\(loss)"
      )
    }
  }

  /// What the head says and is not so: a name that was mistyped, or of a line that has gone since.
  private func head() -> [MigrationFinding] {
    let name = step.statedName.map { name in
      finding(
        .namedOtherwise, nil,
        "its head calls it \(name.isEmpty ? "nothing" : name); write: name: \(step.name)")
    }
    let allowed = step.allowed.compactMap(MigrationStep.loss(allowedBy:))
    return [name].compactMap { $0 }
      + allowed.filter { !compiled.losses.contains($0) }.map { name in
        let others = didYouMean(nearest(name, among: compiled.unallowedLosses))
        return finding(
          .allowsNoLoss, nil,
          "it allows lossy:\(name), and loses nothing of that name; \(others ?? "take that out of the head")")
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
      findings += rules.remarks(place).map { finding($0.rule, operation, $0.text, at: index) }
      if place.hasOlderReaders, rules.traits.breaksReaders {
        findings.append(
          finding(
            .readerTooOld, operation,
            "reader: \(step.reader) lets programs of that version open the store, which do not know this",
            at: index))
      }
      former.follow(operation, of: step.number)
      let earlier = model
      try operation.apply(to: &model)
      findings += movedLinks(operation, earlier, model)
      new.follow(rules.subject)
    }
    return findings
  }

  /// To-manys that are no other end of anything, and may be meant as one.
  private func pairs() -> [MigrationFinding] {
    let known = Set(before.unpairedMembers)
    return compiled.model.unpairedMembers.filter { !known.contains($0) }.map { members in
      let operation = step.operations.last { operation in
        switch operation.subject {
        case .madeEntity(let entity):
          [members.entity, members.relationship.destination].contains(entity.name)
        case .made(let entity, let name, _):
          entity == members.entity && name == members.relationship.name
            || entity == members.relationship.destination && members.backs.contains(name)
        default: false
        }
      }
      return finding(
        .mayBePaired, operation, "\(members.sentence), write: relationship \(members.stepText)")
    }
  }

  /// Tables of links that older programs would look for: a new inverse may give one another name, or put the links elsewhere.
  private func movedLinks(_ operation: MigrationOperation, _ before: Schema, _ after: Schema)
    -> [MigrationFinding]
  {
    guard step.reader < step.number, !operation.rules.traits.breaksReaders else { return [] }
    let kept = Set(after.joinTables)
    return before.joinTables.filter { !kept.contains($0) }.map { join in
      finding(
        .readerTooOld, operation,
        "reader: \(step.reader) lets programs of that version open the store, which look for the links of "
          + "\(join.source).\(join.relationship) where they are no more")
    }
  }

  /// References without an action of the engine to what was there before: a program that does not know them deletes what they
  /// lead to, and its save fails.
  private func deniedDeletions() -> [MigrationFinding] {
    guard step.reader < step.number else { return [] }
    let former = Dictionary(before.tables.map { ($0.name, $0.foreignKeys) }) { first, _ in first }
    return compiled.model.tables.flatMap { table in
      table.foreignKeys.filter { key in
        key.onDelete == "NO ACTION" && former[key.table] != nil && former[table.name]?.contains(key) != true
      }.map { key in
        finding(
          .readerTooOld, nil,
          "reader: \(step.reader) lets programs of that version open the store, and what they delete of \(key.table) fails "
            + "where \(table.name).\(key.column) leads to it; its other end can say on delete cascade")
      }
    }
  }

  private func rebuilds() throws -> [MigrationFinding] {
    guard let oldest = Engine(sqliteVersion: "3.15.2") else { return [] }
    let isOldest = Engine.current.sqliteVersion == oldest.sqliteVersion
    let old = isOldest ? compiled : try step.compiled(from: before, engine: oldest)
    // The run copies it once; the first operation of those that it is copied for stands for all.
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
        .rebuildsTable, operation, "on SQLCipher 3, \(tables.joined(separator: ", ")) \(verb) copied whole")
    }
  }

  private func wayBack() throws -> [MigrationFinding] {
    guard step.irreversible == nil,
      case .none(let reason) = try step.wayBack(from: before, to: compiled.model)
    else { return [] }
    return [
      finding(
        .irreversible, nil, "nothing leads back: \(reason); write [down], or in it: irreversible \"why\"")
    ]
  }
}
