// What a run of steps would do to a store, determined without changing a byte.

public import CipherSQLite
private import Foundation

/// What a run would do to a store: run pending steps, roll steps back, or run steps again.
public struct MigrationPlan: Sendable, Hashable {
  /// A pending step, or a step that would be rolled back.
  public struct Step: Sendable, Hashable {
    /// The number of the step.
    public let number: Int
    /// The name of the step.
    public let name: String
    /// Whether the step would be rolled back.
    public let isRollback: Bool
    /// Its operations, or the operations that undo it, one line each.
    public let operations: [String]
    /// Its SQL statements for the engine of this process, in order.
    public let sql: [String]
    /// What the step loses for good, such as `User.city`.
    public let losses: [String]
    /// The to-manys that stay but lose all their members, by the loss that causes it: losing `Post.user`
    /// empties `User.posts`.
    public let emptied: [String: [String]]
    /// The losses that the step's author did not allow; for a rollback, all losses.
    public let unallowedLosses: [String]
    /// The tables that are copied whole.
    public let rebuiltTables: [String]
    /// The number of rows that it copies, moves or indexes: see ``MigrationCost/rows``.
    public let rows: Int
    /// The rows that would make the step fail, as far as they can be found before it runs.
    public let refusals: [Refusal]
    /// The checks that could not be made before the run, each a sentence with the reason.
    public let unasked: [String]
    /// The functions of the app that it calls, in order.
    public let transforms: [Transform]
    /// The reason why the step cannot be rolled back once it has run; nil when it can, and for a step
    /// that would be rolled back.
    public let irreversible: String?
  }

  /// A function of the app that a step calls.
  public struct Transform: Sendable, Hashable {
    /// The operation, on one line.
    public let operation: String
    /// The name of the function in the step.
    public let name: String
    /// The entity whose objects or values it is called with.
    public let entity: String
    /// The number of objects or values; nil when rows are not checked, when the tables differ from the
    /// model, or when an earlier change affects the table.
    public let rows: Int?
    /// Whether this program does not provide the function: running the step is refused.
    public let isMissing: Bool
  }

  /// Rows that an operation would refuse.
  public struct Refusal: Sendable, Hashable {
    /// The operation, on one line.
    public let operation: String
    /// The entity, as the step names it; empty when several are concerned.
    public let entity: String
    /// The properties of the entity that are concerned.
    public let properties: [String]
    /// The rule that the rows break.
    public let rule: RefusalRule
    /// The number of duplicate values, or of rows that break the rule.
    public let count: Int
    /// The ids of the first such rows, at most five.
    public let rows: [Int64]
    /// The problem, and what to do about it.
    let text: String
  }

  /// The store's present version.
  public let storeVersion: Int
  /// The version of the program's steps.
  public let availableVersion: Int
  /// The version that the store would have afterwards.
  public let targetVersion: Int
  /// The steps that would be rolled back, the last one first, then the steps that would run, in order.
  public let steps: [Step]
  /// The steps that ran, in order.
  public let history: [AppliedStep]
  /// The reasons why steps cannot be rolled back, by step number, for all steps that ran or are pending.
  /// Steps that can be rolled back are not in it. Empty if this release cannot read the steps that ran.
  public let irreversible: [Int: String]
  /// The size of the file in bytes, without its write-ahead log.
  public let bytes: Int
  /// The cipher settings of the file.
  public let cipher: CipherProfile
  /// The reasons why the steps would be refused whatever the rows are, a sentence each; empty when there
  /// are none.
  ///
  /// These are: differences between the tables and the store's model; triggers that no step created and
  /// that a step would drop with their tables; objects that no step created and whose name a step needs;
  /// foreign views, triggers and tables that use something which a step removes.
  public let drift: [String]
  /// Whether the tables are those of the store's model.
  package let hasOwnTables: Bool
  /// The oldest version of steps that may open the store as it is now.
  public let minimumReader: Int

  /// Whether an encrypted copy would be made before the steps, because a step requests one.
  public let makesBackup: Bool

  /// How many rows the steps write, and how long that may take.
  public let cost: MigrationCost

  /// The disk space in bytes that the steps need besides the file while they run.
  public let neededBytes: Int

  /// The rows that any step would refuse: if there are any, opening fails.
  public var refusals: [Refusal] { steps.flatMap(\.refusals) }
  /// The functions of the app that steps call and this program does not provide: running the steps
  /// is refused.
  public var missingTransforms: [String] { steps.flatMap(\.transforms).filter(\.isMissing).map(\.name) }
  /// Whether there is nothing to do.
  public var isUpToDate: Bool { steps.isEmpty }
  /// What any step would lose for good.
  public var losses: [String] { steps.flatMap(\.losses) }
  /// The losses that the authors of the steps did not allow.
  public var unallowedLosses: [String] { steps.flatMap(\.unallowedLosses) }
}

extension MigrationPlan {
  /// Plans a run.
  /// - Parameters:
  ///   - goal: What the run is to do.
  ///   - asksRows: Whether the checks of the steps run on the rows now. If so, the connection needs the
  ///     SQL functions of a store.
  ///   - makesBackups: Whether steps that request a copy get one.
  package init(
    _ inspection: Inspection, with set: MigrationSet, goal: MigrationGoal = .latest, asksRows: Bool = false,
    makesBackups: Bool = true
  ) throws {
    self = try inspection.connection.transaction(.deferred) {
      try MigrationPlan(
        ofOneMoment: inspection, with: set, goal: goal, asksRows: asksRows, makesBackups: makesBackups)
    }
  }

  private init(
    ofOneMoment inspection: Inspection, with set: MigrationSet, goal: MigrationGoal, asksRows: Bool,
    makesBackups: Bool
  ) throws {
    let connection = inspection.connection
    let history = try Self.history(inspection)
    let work = try history.work(goal, with: set, file: inspection.path)
    let model = try history.model()
    let expected = model.layout
    let differences = SchemaDifference.lines(
      found: try SchemaDifference.found(expected, in: connection), expected: expected, repairing: model,
      before: work.steps)
    hasOwnTables = differences.isEmpty
    drift =
      differences
      + (try ForeignObjects(layout: expected).obstacles(to: work.steps, connection))
    // No error: a later release may have run steps that this one cannot read, and still admit older
    // readers.
    irreversible = (try? history.irreversible(with: set, file: inspection.path)) ?? [:]
    let amounts = try RowForecast.amounts(of: work.steps, in: connection)
    let rows = amounts.map(\.rows)
    var questions = PreflightChecks(connection, try TouchedTables(model, connection), isSound: hasOwnTables)
    // No trial without checks of rows: a faulty block in a pending step must not prevent an inspection of
    // the store.
    let trial = asksRows ? SQLTrial(set) : nil
    var steps: [Step] = []
    for (index, compiled) in work.steps.enumerated() {
      let isRollback = index < work.back.count
      let asked = try questions.asked(by: compiled, trial)
      let reason = isRollback ? nil : irreversible[compiled.step.number]
      steps.append(
        Step(
          compiled, isRollback: isRollback, checks: asked, functions: set.transforms, irreversible: reason,
          rows: rows[index]))
    }
    self.steps = steps
    makesBackup = makesBackups && work.steps.contains(where: \.wantsBackup)
    storeVersion = history.version
    availableVersion = set.version
    targetVersion = work.version
    self.history = history.steps
    bytes = try DatabasePath(inspection.path).byteCount ?? 0
    // The size includes pages in the write-ahead log, which are copied as well.
    let size = connection.contentBytes
    cost = MigrationCost(
      work, rows: rows, storeBytes: size ?? 0, makesBackups: makesBackups)
    neededBytes = work.neededBytes(
      amounts: amounts, storeBytes: size ?? 0, makesBackups: makesBackups)
    cipher = connection.unlocked.profile
    minimumReader = history.minimumReader
  }

  /// The history of a store, with errors that name the file as the user did.
  private static func history(_ inspection: Inspection) throws -> StoreHistory {
    do { return try StoreHistory.read(inspection.connection) } catch StoreError.notAStore {
      throw StoreError.notAStore(file: inspection.path)
    } catch StoreError.bookkeepingDamaged(_, let place, let reason) {
      throw StoreError.bookkeepingDamaged(file: inspection.path, place: place, reason: reason)
    }
  }
}

extension MigrationPlan.Step {
  fileprivate init(
    _ compiled: CompiledStep, isRollback: Bool,
    checks asked: PreflightChecks, functions: TransformTable, irreversible: String?, rows: Int
  ) {
    let statements = compiled.parts.flatMap(\.statements)
    self.rows = rows
    (number, name, self.isRollback) = (compiled.step.number, compiled.step.name, isRollback)
    (operations, sql) = (compiled.step.operations.map(\.summary), statements.map(\.text))
    (losses, unallowedLosses) = (compiled.losses, compiled.unallowedLosses)
    emptied = compiled.emptied
    let copied = statements.compactMap { if case .copy(let copy) = $0 { copy.source } else { nil } }
    // A table may be copied twice when a data block lies between two changes: it is listed once.
    rebuiltTables = copied.indices.filter { copied.firstIndex(of: copied[$0]) == $0 }.map { copied[$0] }
    (refusals, unasked, self.irreversible) = (asked.refusals, asked.unasked, irreversible)
    let calls = compiled.step.operations.compactMap { call in call.function.map { (call, $0) } }
    transforms = calls.enumerated().map { index, call in
      MigrationPlan.Transform(
        operation: call.0.summary, name: call.1.name, entity: call.1.entity,
        rows: asked.counts.indices.contains(index) ? asked.counts[index] : nil,
        isMissing: !functions.covers(call.1))
    }
  }
}

extension MigrationPlan.Step {
  /// The text of a loss, with the to-manys that it empties.
  package func text(ofLoss loss: String) -> String { lossText(loss, emptied) }
}

extension MigrationPlan {
  /// The text of a loss of any step, with the to-manys that it empties.
  package func text(ofLoss loss: String) -> String {
    steps.first { $0.emptied[loss] != nil }?.text(ofLoss: loss) ?? loss
  }
}

extension MigrationPlan.Refusal: CustomStringConvertible {
  /// The operation, the problem, and what to do.
  public var description: String { "\(operation): \(text)" }
}
