// What data blocks and expressions put into rows, checked after they ran, in new stores and in migrated ones.

internal import CipherSQLite

/// Goes along with the steps of one run.
struct RowAudit {
  let connection: Connection
  /// What Swift's types take, by `Entity.property` of the last model; empty where there are no classes.
  let readers: [String: ValueReader]
  /// Old damage, which does not block a step. New damage does.
  private var known: Set<DanglingReference> = []
  /// Tables outside the model that have foreign keys, and their old damage.
  private let foreignTables: [ReferenceCheck.ForeignTable]
  private var knownForeign: Set<DanglingReference> = []
  /// Whether tables have changed since, so that old damage may have other names now.
  private var isStale = false
  /// What the steps wrote, by the names of now.
  private var written: [Written] = []
  /// The operations to which a property of an entity owes what it holds.
  private typealias Blame = (_ entity: String, _ property: String) -> String

  private struct Written {
    let step: MigrationStep
    let blame: Blame
    var columns: TouchedColumns
  }

  /// - Parameters:
  ///   - model: That of the rows which are there already; nil where there are none.
  ///   - former: What went along with the steps before, where these were committed by themselves.
  init(
    _ connection: Connection, readers: [String: ValueReader], model: Schema?, behind former: RowAudit? = nil
  ) throws {
    (self.connection, self.readers) = (connection, readers)
    written = former?.written ?? []
    foreignTables = try model.map { try ReferenceCheck.foreignTables(connection, $0) } ?? []
    if let model { known = try ReferenceCheck.dangling(connection, model) }
    knownForeign = try ReferenceCheck.foreign(connection, foreignTables)
  }

  /// Called before a run of data blocks.
  mutating func willWrite(_ model: Schema) throws {
    // Changes of tables break no reference, so that no damage stays no damage.
    if isStale, !known.isEmpty { known = try ReferenceCheck.dangling(connection, model) }
    isStale = false
  }

  /// Called after operations that changed tables.
  /// - Parameter unseen: Those of the columns that they filled whose values nobody has looked at.
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

  /// The same behind steps that another process ran.
  func following(_ steps: [CompiledStep]) throws -> RowAudit {
    var audit = self
    for part in steps.flatMap(\.parts) { try audit.follow(part) }
    return audit
  }

  /// Calls what was written by the names that it has behind a run of operations.
  private mutating func follow(_ part: CompiledStep.Part) throws {
    guard !written.isEmpty else { return }
    var model = part.before
    for operation in part.operations {
      for index in written.indices { written[index].columns.follow(operation, model) }
      // A part of a composite is named after the whole, and the model before it is that between the parts.
      if model.hasFamilies, operation.composite == nil { try operation.apply(to: &model) }
    }
  }

  /// Called after a run of data blocks, before the tables change again.
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
    guard fresh.isEmpty else { throw step.failed(name, ReferenceCheck.sentence(fresh)) }
    known = found
    try checkForeign(of: step, by: operations)
  }

  /// Refuses a step that deletes what tables outside the model refer to.
  private mutating func checkForeign(of step: MigrationStep, by operations: [MigrationOperation]) throws {
    guard !foreignTables.isEmpty else { return }
    let found = try ReferenceCheck.foreign(connection, foreignTables)
    let fresh = found.subtracting(knownForeign)
    guard fresh.isEmpty else { throw step.failed(Self.names(of: operations), ReferenceCheck.sentence(fresh)) }
    knownForeign = found
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
    // What a plan asks of rows that were there before is no fault of the step's.
    throw part?.compiler?.fittingCheck(first.entity, first.property) == nil
      ? step.failed(name(first.entity, first.property), sentence)
      : step.refused(name(first.entity, first.property), sentence)
  }

  /// Called after the last step.
  ///
  /// The model of a step knows no cases of enums, and those of today's classes may not be those that a step was written
  /// for, as long as other steps follow. So they are asked once, of all columns that the steps wrote.
  func finish(_ model: Schema) throws {
    let narrow = readers.filter { $0.value.isNarrow }
    guard !narrow.isEmpty, !written.isEmpty else { return }
    let check = TypeCheck(model: model, readers: narrow)
    for writing in written.reversed() {
      let findings = try check.findings(connection, touched: writing.columns, onlyReaders: true)
      if let first = findings.first {
        throw writing.step.failed(writing.blame(first.entity, first.property), Self.sentence(findings))
      }
    }
  }

  /// Whether the steps left more references that lead nowhere than there were: a last look at what they cannot do.
  func brokenReferences(_ model: Schema) throws -> String? {
    let found = try ReferenceCheck.dangling(connection, model)
    return found.count > known.count ? ReferenceCheck.sentence(found) : nil
  }

  private static func sentence(_ findings: [TypeFinding]) -> String {
    findings.prefix(8).map { "\($0)" }.joined(separator: "; ")
  }
}

extension TouchedColumns {
  /// Calls what was touched by the names that it has after an operation.
  /// - Parameter model: The model before the operation, where any entity has a parent.
  fileprivate mutating func follow(_ operation: MigrationOperation, _ model: Schema) {
    let hasTable = { (entity: String) in model.root(of: entity) == entity }
    switch operation.subject {
    case .renamedEntity(let name, let new): if hasTable(name) { rename(entity: name, to: new) }
    case .droppedEntity(let name): if hasTable(name) { rename(entity: name, to: nil) }
    case .movedEntity(let entity, let parent):
      if contains(model.root(of: entity)) { insert(wholeTable: parent.map(model.root) ?? entity) }
    // The rows of both stand together; of a part of it one of the two may be gone, and was noted by the first.
    case .mergedEntity(let name, let new?):
      guard contains(model.root(of: name)), model.entity(named: new) != nil else { return }
      insert(wholeTable: model.root(of: new))
    case .renamed(let entity, let name, let new, isRelationship: false):
      rename(model.root(of: entity), name, to: new)
    case .renamed(let entity, let name, let new, isRelationship: true):
      rename(
        model.root(of: entity), RelationshipDescription.columnName(name),
        to: RelationshipDescription.columnName(new))
    case .dropped(let entity, let name, isRelationship: false):
      rename(model.root(of: entity), name, to: nil)
    case .moved(let entity, let name, isToMany: true):
      rename(model.root(of: entity), RelationshipDescription.columnName(name), to: nil)
    case .madeEntity, .made, .changed, .dropped, .moved, .mergedEntity, .madeIndex, .droppedIndex, .rawObject,
      .parts, .rows:
      break
    }
  }
}
