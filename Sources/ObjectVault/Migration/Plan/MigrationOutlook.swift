// What screens say of a store and of a run beyond its plan: what it needs and what is there, why tables are written again,
// and how the store is. Nothing is written.

package import CipherSQLite

/// A store before a run of steps, and what the run comes to.
package struct MigrationOutlook {
  /// A table that is written again whole.
  package struct Rebuild: Sendable, Hashable {
    package let table: String
    /// The operations that make it so, and why they do, such as `SQLite 3.15.2 has no DROP COLUMN`.
    package let operations: [String]
    package let reason: String
    /// How often: more than once where an operation behind asks for what one before has made.
    package let copies: Int
  }

  /// What the model of the store means, as a digest.
  package let modelHash: String
  /// How many references lead nowhere, or to objects of other entities; nil where the tables are not the model's.
  package let danglingReferences: Int?
  /// The oldest version of steps that may open the store afterwards.
  package let minimumReader: Int
  /// The room on the disk of the store, in bytes; nil where the system does not say.
  package let freeBytes: Int?
  /// How the copy would be called that is made before; nil where none is.
  package let backupName: String?
  /// The copies beside the store that were made before earlier steps, oldest first, with their names.
  package let copies: [(name: String, copy: KeptCopy)]
  /// The tables that each step writes again, by the places of the plan's steps.
  package let rebuilds: [[Rebuild]]
  /// Whether each step writes values of its author's, by the places of the plan's steps.
  package let writesData: [Bool]
  /// How long each step may take, in seconds, by the places of the plan's steps.
  package let seconds: [Double]

  /// - Parameters:
  ///   - plan: What was found out before, of the same store, steps and goal.
  package init(
    _ plan: MigrationPlan, of inspection: Inspection, _ set: MigrationSet, _ goal: MigrationGoal = .latest
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

  /// The steps behind a store, in order.
  package static func appliedSteps(_ connection: Connection) throws -> [AppliedStep] {
    try StoreHistory.read(connection).steps
  }

  /// What a step writes again, each table once with how often it does.
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
          + ($0.missing.isEmpty ? "ALTER TABLE for that" : $0.missing.joined(separator: " and no ")),
        copies: $0.copies)
    }
  }
}
