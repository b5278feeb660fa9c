// Checks the rows that data blocks and expressions wrote, in new and in migrated stores.

internal import CipherSQLite

/// Follows the steps of one run, and checks the rows that they write.
struct RowAudit {
  let connection: Connection
  /// The checks by Swift types, keyed by `Entity.property` of the last model; empty without classes.
  let readers: [String: ValueReader]
  /// Dangling references from before the current data block. They do not fail a step; new ones do.
  private var known: Set<DanglingReference> = []
  /// Tables outside the model that have foreign keys.
  private let foreignTables: [ReferenceCheck.ForeignTable]
  /// The dangling references of these tables that existed before the run and still exist. They do not
  /// fail a step.
  private var acceptedForeign: Set<DanglingReference> = []
  /// Whether tables have changed since `known` was read, so that its references may have other names now.
  private var isStale = false
  /// The columns that the steps wrote, under their present names.
  private var written: [Written] = []
  /// Returns the summaries of the operations that gave a property its values, for the error.
  private typealias Blame = (_ entity: String, _ property: String) -> String

  private struct Written {
    let step: MigrationStep
    let blame: Blame
    var columns: TouchedColumns
  }

  /// Reads the references that dangle before the run.
  /// - Parameters:
  ///   - model: The model of the existing rows; nil for a new store.
  ///   - former: The audit of the earlier steps, if these were committed separately.
  init(
    _ connection: Connection, readers: [String: ValueReader], model: Schema?, after former: RowAudit? = nil
  ) throws {
    (self.connection, self.readers) = (connection, readers)
    written = former?.written ?? []
    foreignTables = try model.map { try ReferenceCheck.foreignTables(connection, $0) } ?? []
    if let model { known = try ReferenceCheck.dangling(connection, model) }
    acceptedForeign = try ReferenceCheck.foreign(connection, foreignTables)
  }

  /// Prepares for data blocks that are about to run: reads the dangling references again if tables have
  /// changed.
  mutating func willWrite(_ model: Schema) throws {
    // Changes of tables break no reference within the model, so an empty set needs no new check.
    if isStale, !known.isEmpty { known = try ReferenceCheck.dangling(connection, model) }
    isStale = false
  }

  /// Checks the rows after operations that changed tables.
  /// - Parameter unseen: The columns that the operations filled and whose values are still unchecked.
  mutating func changedTables(
    _ part: CompiledStep.Part, of step: MigrationStep, _ unseen: TouchedColumns
  ) throws {
    isStale = true
    try follow(part)
    try checkForeign(of: step, by: part.operations)
    let blame: Blame = { part.blamed(entity: $0, property: $1) }
    try checkTypes(unseen, part.model, of: step, asking: part, blaming: blame)
    guard !part.filled.isEmpty else { return }
    written.append(Written(step: step, blame: blame, columns: part.filled))
  }

  /// Returns the audit after steps that another process ran: with the new names of tables and columns.
  func following(_ steps: [CompiledStep]) throws -> RowAudit {
    var audit = self
    for part in steps.flatMap(\.parts) { try audit.follow(part) }
    return audit
  }

  /// Applies the renames and drops of a part to the recorded tables and columns.
  private mutating func follow(_ part: CompiledStep.Part) throws {
    guard !written.isEmpty else { return }
    var model = part.before
    for operation in part.operations {
      for index in written.indices { written[index].columns.follow(operation, model) }
      // Every part of a composite lists the whole operation. It is not applied here, because
      // `part.before` already is the model between two parts.
      if model.hasHierarchies, operation.composite == nil { try operation.apply(to: &model) }
    }
  }

  /// Checks the rows after data blocks, while the tables still have the names in `columns`.
  mutating func wrote(
    _ columns: TouchedColumns, _ model: Schema, of step: MigrationStep, by operations: [MigrationOperation]
  ) throws {
    let name = Self.names(of: operations)
    try checkTypes(columns, model, of: step) { _, _ in name }
    if !columns.isEmpty {
      written.append(Written(step: step, blame: { _, _ in name }, columns: columns))
    }
    let found = try ReferenceCheck.dangling(connection, model)
    let fresh = found.subtracting(known)
    guard fresh.isEmpty else { throw step.failed(name, because: ReferenceCheck.sentence(fresh)) }
    known = found
    try checkForeign(of: step, by: operations)
  }

  /// Refuses a step after which rows outside the model refer to deleted rows.
  private mutating func checkForeign(of step: MigrationStep, by operations: [MigrationOperation]) throws {
    guard !foreignTables.isEmpty else { return }
    let found = try ReferenceCheck.foreign(connection, foreignTables)
    let fresh = found.subtracting(acceptedForeign)
    guard fresh.isEmpty else {
      throw step.failed(Self.names(of: operations), because: ReferenceCheck.sentence(fresh))
    }
    acceptedForeign = found
  }

  private static func names(of operations: [MigrationOperation]) -> String {
    var names: [String] = []
    for operation in operations where !names.contains(operation.summary) { names.append(operation.summary) }
    return names.joined(separator: "; ")
  }

  private func checkTypes(
    _ columns: TouchedColumns, _ model: Schema, of step: MigrationStep, asking part: CompiledStep.Part? = nil,
    blaming name: Blame
  ) throws {
    guard !columns.isEmpty else { return }
    let findings = try TypeCheck(model: model).findings(connection, touched: columns)
    guard let first = findings.first else { return }
    let sentence = Self.sentence(findings)
    // If a preflight check covers the property, existing rows are at fault and not the step. So the step
    // is refused; it has not failed.
    throw part?.compiler?.fittingCheck(first.entity, property: first.property) == nil
      ? step.failed(name(first.entity, first.property), because: sentence)
      : step.refused(name(first.entity, first.property), because: sentence)
  }

  /// Checks the written values against the Swift types, after the last step.
  ///
  /// The model of a step does not have the cases of enums, and the present classes may not match the
  /// model of an earlier step. So the values are checked once, in all columns that the steps wrote.
  func finish(_ model: Schema) throws {
    let narrow = readers.filter { $0.value.isNarrow }
    guard !narrow.isEmpty, !written.isEmpty else { return }
    let check = TypeCheck(model: model, readers: narrow)
    for writing in written.reversed() {
      let findings = try check.findings(connection, touched: writing.columns, onlyReaders: true)
      if let first = findings.first {
        throw writing.step.failed(
          writing.blame(first.entity, first.property), because: Self.sentence(findings))
      }
    }
  }

  /// Returns a sentence if there are more dangling references than when they were last read; else nil.
  /// The earlier checks refuse steps that cause such references; this one is a safeguard.
  func brokenReferences(_ model: Schema) throws -> String? {
    let found = try ReferenceCheck.dangling(connection, model)
    return found.count > known.count ? ReferenceCheck.sentence(found) : nil
  }

  private static func sentence(_ findings: [TypeFinding]) -> String {
    findings.prefix(8).map { "\($0)" }.joined(separator: "; ")
  }
}

extension TouchedColumns {
  /// Applies the renames and drops of an operation to the touched tables and columns.
  /// - Parameter model: The model before the operation. Without inheritance hierarchies: the model before
  ///   the part, which has the same root entities.
  fileprivate mutating func follow(_ operation: MigrationOperation, _ model: Schema) {
    let hasTable = { (entity: String) in model.root(of: entity) == entity }
    switch operation.subject {
    case .renamedEntity(let name, let new): if hasTable(name) { rename(entity: name, to: new) }
    case .droppedEntity(let name): if hasTable(name) { rename(entity: name, to: nil) }
    case .movedEntity(let entity, let parent):
      if contains(model.root(of: entity)) { insert(wholeTable: parent.map(model.root) ?? entity) }
    // Afterwards, the rows of both entities are in one table. In a later part of the merge an entity may
    // no longer exist; then the first part has recorded the table.
    case .mergedEntity(let name, let new?):
      guard contains(model.root(of: name)), model.entity(named: new) != nil else { return }
      insert(wholeTable: model.root(of: new))
    case .renamed(let entity, let name, let new, isRelationship: false):
      rename(model.root(of: entity), column: name, to: new)
    case .renamed(let entity, let name, let new, isRelationship: true):
      rename(
        model.root(of: entity), column: RelationshipDescription.columnName(name),
        to: RelationshipDescription.columnName(new))
    case .dropped(let entity, let name, isRelationship: false):
      rename(model.root(of: entity), column: name, to: nil)
    case .moved(let entity, let name, isToMany: true):
      rename(model.root(of: entity), column: RelationshipDescription.columnName(name), to: nil)
    case .madeEntity, .changedEntity, .made, .changed, .dropped, .moved, .mergedEntity, .madeIndex,
      .droppedIndex, .rawObject, .parts, .rows:
      break
    }
  }
}
