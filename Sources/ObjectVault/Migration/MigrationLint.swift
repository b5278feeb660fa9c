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
      // No store has rows yet that the first step could meet.
      guard step.number > 1, !step.isFolded else {
        model = try step.applied(to: model)
        continue
      }
      let lint = try StepLint(step, model, former)
      findings += try lint.findings()
      model = lint.compiled.model
    }
    return findings
  }
}

extension MigrationSet {
  /// What classes say of former names by ``AttributeOption/renamed(from:)`` and steps have done: the hint has served, and
  /// would make a renaming of whatever is called so next.
  ///
  /// Pure: needs no store.
  /// - Parameter schema: That of the classes.
  public func findings(of schema: Schema) -> [MigrationFinding] {
    schema.entities.flatMap { entity in
      entity.propertyNames.compactMap { name in
        guard let former = schema.bindings[entity.name]?.formerName(of: name) else { return nil }
        return renaming(of: former, to: name).map { step, operation in
          MigrationFinding(
            rule: .renamingIsDone, step: step.number, file: step.fileName, operation: operation.summary,
            text:
              "\(entity.name).\(name) is renamed by this step; take .renamed(from: \"\(former)\") out of the class"
          )
        }
      }
    }
  }

  /// The last step that renames a property so.
  private func renaming(of former: String, to name: String) -> (MigrationStep, MigrationOperation)? {
    for step in steps.reversed() {
      for operation in step.operations {
        switch operation {
        case .renameAttribute(_, former, to: name), .renameRelationship(_, former, to: name):
          return (step, operation)
        default: break
        }
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
    try losses() + head() + operations() + rebuilds() + wayBack()
  }

  func finding(
    _ rule: MigrationFinding.Rule, _ operation: MigrationOperation?, _ text: String
  ) -> MigrationFinding {
    MigrationFinding(
      rule: rule, step: step.number, file: step.fileName, operation: operation?.summary,
      text: text)
  }

  private func losses() -> [MigrationFinding] {
    let parts = compiled.parts.filter { $0.operations.count == 1 }
    return compiled.unallowedLosses.map { loss in
      let isEntity = !loss.contains(".")
      let operation =
        step.operations.first { operation in
          switch operation {
          case .dropEntity(let name): isEntity && name == loss
          case .dropAttribute(let entity, let name), .dropRelationship(let entity, let name):
            "\(entity).\(name)" == loss
          default: false
          }
        } ?? parts.first { $0.losses.contains(loss) }?.operations.first
      return finding(
        isEntity ? .dropsEntity : .dropsProperty, operation,
        "\(loss) is lost for good; when that is meant, write into the head: allow: lossy:\(loss)")
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
      findings += familyFindings(operation, model, former)
      former.follow(operation, of: step.number)
      findings += self.findings(
        operation, model, new, step.operations.prefix(index), step.operations.dropFirst(index + 1))
      let earlier = model
      try operation.apply(to: &model)
      findings += movedLinks(operation, earlier, model)
      switch operation {
      case .createEntity(let entity): new.insert(entity.name)
      case .dropEntity(let name): new.remove(name)
      case .renameEntity(let name, let other): if new.remove(name) != nil { new.insert(other) }
      default: break
      }
    }
    return findings
  }

  /// Tables of links that older programs would look for: a new inverse may give one another name, or put the links elsewhere.
  private func movedLinks(_ operation: MigrationOperation, _ before: Schema, _ after: Schema)
    -> [MigrationFinding]
  {
    guard step.reader < step.number, !operation.breaksOlderPrograms else { return [] }
    let kept = Set(after.joinTables)
    return before.joinTables.filter { !kept.contains($0) }.map { join in
      finding(
        .readerTooOld, operation,
        "reader: \(step.reader) lets programs of that version open the store, which look for the links of "
          + "\(join.source).\(join.relationship) where they are no more")
    }
  }

  /// - Parameter new: The entities that the step made, which have no objects yet.
  private func findings(
    _ operation: MigrationOperation, _ model: Schema, _ new: Set<String>,
    _ earlier: ArraySlice<MigrationOperation>, _ later: ArraySlice<MigrationOperation>
  ) -> [MigrationFinding] {
    var findings: [MigrationFinding] = []
    func existed(_ entity: String) -> Bool { !new.contains(entity) }
    // Whether SQL or Swift of the step's author has looked at a property before.
    func isTransformed(_ name: String) -> Bool {
      earlier.contains {
        switch $0 {
        case .transform(let sql): sql.contains(".\(name)")
        case .transformSwift(let transform):
          transform.writes?.contains { $0.property == nil || $0.property == name } ?? true
        default: false
        }
      }
    }
    switch operation {
    case .retype(let entity, let name, let type, let using):
      if let old = model.entity(named: entity)?.attribute(named: name)?.type, !old.converts(to: type) {
        findings.append(
          finding(
            .narrows, operation,
            "not every \(old.rawValue) is \(type.rawValue); "
              + (using == nil
                ? "a value that is none ends the step" : "CAST makes 0 of what is none, and tells nobody")))
      }
    case .makeRequired(let entity, let name, filling: nil) where existed(entity) && !isTransformed(name):
      findings.append(
        finding(.requiresWithoutFilling, operation, "rows without a value end the step; write: filling VALUE")
      )
    case .addAttribute(let entity, let attribute) where existed(entity):
      if !attribute.isOptional, attribute.defaultValue == nil {
        findings.append(
          finding(
            .requiresWithoutFilling, operation,
            "rows that are there have no value; \(FillingAdvice.attribute)"))
      }
      if attribute.isUnique, attribute.defaultValue != nil {
        findings.append(
          finding(
            .uniqueOnExisting, operation,
            "all rows that are there get the same value, and it has to be unique"))
      }
    case .addRelationship(let entity, let relationship) where existed(entity) && relationship.isRequired:
      findings.append(
        finding(
          .requiresWithoutFilling, operation,
          "rows that are there have none; \(FillingAdvice.toOne)"))
    case .addIndex(let entity, let index) where index.isUnique && existed(entity):
      findings.append(
        finding(
          .uniqueOnExisting, operation,
          "two rows with equal values end the step; store-migrate plan counts them"))
    case .makeOne(let entity, _, picking: nil) where existed(entity):
      findings.append(
        finding(.severalToOne, operation, "who has several ends the step; write: picking (ORDER)"))
    case .makeOne(let entity, _, picking: _?) where existed(entity):
      findings.append(finding(.severalToOne, operation, "links that are not picked are lost for good"))
    case .dropAttribute(let entity, let name):
      guard let old = model.entity(named: entity)?.attribute(named: name), !isTransformed(name) else { break }
      for case .addAttribute(entity, let new) in step.operations where new.type == old.type {
        findings.append(
          finding(
            .mayBeRenaming, operation,
            "\(entity).\(new.name) of the same type is added; to keep the values: rename attribute \(entity).\(name) -> \(new.name)"
          ))
      }
    case .createEntity(let entity):
      // Below one that the step made itself it is as unknown to older programs as that one.
      if step.reader < step.number, let root = entity.parent.map(model.root(of:)), existed(root) {
        findings.append(
          finding(
            .readerTooOld, operation,
            "reader: \(step.reader) lets programs of that version open the store, which find objects of \(entity.name) "
              + "among those of \(root) and do not know what they are"))
      }
    case .createRawObject(let object): findings += self.findings(object, operation, model, new)
    case .transform where !later.contains(where: \.isRequirement),
      .transformSwift where !later.contains(where: \.isRequirement):
      findings.append(
        finding(
          .transformsUnchecked, operation,
          "nothing asks behind it whether it did what it should; write: require \"…\" { SELECT … }"))
    default: break
    }
    if step.reader < step.number, operation.breaksOlderPrograms {
      findings.append(
        finding(
          .readerTooOld, operation,
          "reader: \(step.reader) lets programs of that version open the store, which do not know this"))
    }
    return findings
  }

  private func findings(
    _ object: RawObject, _ operation: MigrationOperation, _ model: Schema, _ new: Set<String>
  ) -> [MigrationFinding] {
    let plain = SQLTemplate.plainNames(object.sql)
    var findings = model.entities.filter { plain.contains($0.name.lowercased()) }.map { entity in
      finding(
        .rawNamesPlain, operation,
        "\(entity.name) stands there without a dollar sign, so that no renaming follows; write: $\(entity.name)"
      )
    }
    let existing = SQLTemplate.words(object.sql).subtracting(new.map { $0.lowercased() })
    if object.isUnique, before.entities.contains(where: { existing.contains($0.name.lowercased()) }) {
      findings.append(
        finding(.uniqueOnExisting, operation, "two rows with equal values end the step; look for them before")
      )
    }
    if object.kind == .trigger, !TriggerWrite.all(in: object.sql).isEmpty {
      findings.append(
        finding(
          .triggerWrites, operation,
          "what it writes is in no change set, and objects in memory have it when they are read again"))
    }
    return findings
  }

  private func rebuilds() throws -> [MigrationFinding] {
    guard let oldest = Engine(sqliteVersion: "3.15.2") else { return [] }
    let isOldest = Engine.current.sqliteVersion == oldest.sqliteVersion
    let old = isOldest ? compiled : try step.compiled(from: before, engine: oldest)
    return old.parts.flatMap { part in
      part.planned.compactMap { planned in
        guard case .copy(let source, _, _, _, _) = planned.statement else { return nil }
        // The run copies it once; the first of its operations that names the entity stands for all.
        let operation = part.operations.first { operation in
          operation.summary.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.contains { $0 == source }
        }
        return finding(
          .rebuildsTable, operation,
          "on SQLCipher 3, \(source) is copied whole")
      }
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

extension MigrationOperation {
  fileprivate var isRequirement: Bool { if case .require = self { true } else { false } }

  /// Whether a program of the model before would read or write what is no more.
  fileprivate var breaksOlderPrograms: Bool {
    switch self {
    case .createEntity, .setDefault, .setDeleteRule, .seed, .require, .dropIndex, .transform, .transformSwift:
      false
    case .addAttribute(_, let attribute): !attribute.isOptional && attribute.defaultValue == nil
    case .addRelationship(_, let relationship): relationship.isRequired
    case .addIndex(_, let index): index.isUnique
    // A view may be what a program reads, and a trigger what it relies on.
    case .createRawObject(let object): object.isUnique
    case .dropRawObject(let kind, _): kind != .index
    case .dropEntity, .renameEntity, .setParent, .dropAttribute, .renameAttribute, .retype, .retypeBySwift,
      .makeRequired,
      .makeOptional,
      .dropRelationship, .renameRelationship, .makeMany, .makeOne, .makeOrdered, .makeUnordered,
      .moveAttributes, .mergeEntities,
      .makeEntityRelationship,
      .makeRelationshipEntity:
      true
    }
  }
}
