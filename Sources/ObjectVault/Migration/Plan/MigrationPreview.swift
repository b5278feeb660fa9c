// What screens show of a store and a run in addition to the plan: free and needed space, reasons for
// copied tables, the state of the store. Nothing is written.

package import CipherSQLite

/// A preview: a store before a run of steps, and the effects of the run.
package struct MigrationPreview {
  /// A table that is copied whole.
  package struct Rebuild: Sendable, Hashable {
    package let table: String
    /// The operations that require it, and the reason, such as `SQLite 3.15.2 has no DROP COLUMN`.
    package let operations: [String]
    package let reason: String
    /// How often it is copied: more than once where an operation needs what an earlier one has produced.
    package let copies: Int
  }

  /// The digest of the store's model; models of equal meaning have equal digests.
  package let modelHash: String
  /// The number of references to missing objects or to objects of other entities; nil where the tables
  /// are not the model's.
  package let danglingReferences: Int?
  /// The oldest version of steps that may open the store afterwards.
  package let minimumReader: Int
  /// The free space on the store's disk, in bytes; nil where the system does not report it.
  package let freeBytes: Int?
  /// The name of the copy that would be made before the run; nil when none is made.
  package let backupName: String?
  /// The kept copies of earlier runs, oldest first, with their names.
  package let copies: [(name: String, copy: KeptCopy)]
  /// The tables that each step copies, by the index of the step in the plan.
  package let rebuilds: [[Rebuild]]
  /// Whether each step writes rows with SQL or Swift of its author, by the index of the step in the plan.
  package let writesData: [Bool]
  /// How long each step may take, in seconds, by the index of the step in the plan.
  package let seconds: [Double]

  /// Collects the preview.
  /// - Parameter plan: The plan of the same store, steps and goal.
  package init(
    _ plan: MigrationPlan, of inspection: Inspection, with set: MigrationSet, goal: MigrationGoal = .latest
  ) throws {
    let history = try StoreHistory.read(inspection.connection)
    let (work, model) = (try history.work(goal, with: set, file: inspection.path), try history.model())
    modelHash = SchemaTexts().meaningHash(of: model)
    danglingReferences =
      plan.hasOwnTables ? try ReferenceCheck.dangling(inspection.connection, model).count : nil
    minimumReader = plan.isUpToDate ? history.minimumReader : work.minimumReader
    let file = try DatabasePath(inspection.path)
    freeBytes = file.freeBytes
    backupName = plan.makesBackup ? try MigrationBackup.nextName(of: file, version: history.version) : nil
    copies = history.copies.present(beside: file).map { ($0.name(of: file), $0) }
    rebuilds = work.steps.map(Self.rebuilds)
    writesData = work.steps.map { $0.step.operations.contains { $0.writesRows || $0.rewritesValues } }
    seconds = plan.steps.map { MigrationCost(rows: $0.rows, storeBytes: 0, makesBackup: false).seconds }
  }

  /// Returns the steps that a store has run, in order.
  package static func appliedSteps(_ connection: Connection) throws -> [AppliedStep] {
    try StoreHistory.read(connection).steps
  }

  /// The tables that a step copies, each once, with the number of copies.
  private static func rebuilds(of compiled: CompiledStep) -> [Rebuild] {
    var causes: [CompiledStep.Part.Rebuild] = []
    for rebuild in compiled.parts.flatMap({ $0.rebuilds(.current) }) {
      if let index = causes.firstIndex(where: { $0.table == rebuild.table }) {
        causes[index].join(rebuild)
      } else {
        causes.append(rebuild)
      }
    }
    return causes.map {
      Rebuild(
        table: $0.table, operations: $0.operations.map(\.summary),
        reason: "SQLite \(Engine.current.sqliteVersion) has no "
          + ($0.missing.isEmpty ? "ALTER TABLE for this change" : $0.missing.joined(separator: " and no ")),
        copies: $0.copies)
    }
  }
}
