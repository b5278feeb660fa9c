// What an opening would do to a store, found out without changing a byte.

public import CipherSQLite
private import Foundation

/// What opening a store with some steps would do; or what taking steps back would, or running them again.
public struct MigrationPlan: Sendable, Hashable {
  /// One pending step, or one that would be taken back.
  public struct Step: Sendable, Hashable {
    /// Its number.
    public let number: Int
    /// Its name.
    public let name: String
    /// Whether it would be taken back.
    public let leadsBack: Bool
    /// Its operations, or those that take it back, a line each.
    public let operations: [String]
    /// Its statements for the engine of this process, in order.
    public let sql: [String]
    /// What it loses for good, such as `User.city`.
    public let losses: [String]
    /// The to-manys that stay and have no members any more, by the loss that takes these away, such as `Post.user` and
    /// `User.posts`.
    public let emptied: [String: [String]]
    /// What of it the step's author did not allow; of a step that would be taken back all of it.
    public let unallowedLosses: [String]
    /// The tables that are written again whole.
    public let rebuiltTables: [String]
    /// The rows that it writes again, moves or indexes: see ``MigrationCost/rows``.
    public let rows: Int
    /// Rows that it would refuse, so that it would fail; as far as that can be told before it runs.
    public let refusals: [Refusal]
    /// What it will ask of rows and could not be asked now, with the reason, a sentence each.
    public let unasked: [String]
    /// The functions of the app that it calls, in order.
    public let transforms: [Transform]
    /// Why nothing takes the step back once it has run; nil where something does.
    public let irreversible: String?
  }

  /// A function of the app that a step calls.
  public struct Transform: Sendable, Hashable {
    /// The operation, in one line.
    public let operation: String
    /// The function, as the step calls it.
    public let name: String
    /// The entity whose objects or values it is called with.
    public let entity: String
    /// With how many; nil where an earlier step changes their table, or where rows are not asked.
    public let rows: Int?
    /// Whether the steps at hand came without it: running the step is refused.
    public let isMissing: Bool
  }

  /// Rows that an operation would refuse.
  public struct Refusal: Sendable, Hashable {
    /// The operation, in one line.
    public let operation: String
    /// The entity, as the step calls it; empty where it is about several.
    public let entity: String
    /// Its properties.
    public let properties: [String]
    /// What is asked of them.
    public let rule: RefusalRule
    /// How many values are there more than once, or how many rows are not as they have to be.
    public let count: Int
    /// The ids of the first such rows, at most five.
    public let rows: [Int64]
    /// What is so and what to do.
    let text: String
  }

  /// The store's version now.
  public let storeVersion: Int
  /// The version of the steps at hand.
  public let availableVersion: Int
  /// The version that the store would have afterwards.
  public let targetVersion: Int
  /// The steps that would be taken back, the last one first, and then those that would run, in order.
  public let steps: [Step]
  /// The steps that ran, in order.
  public let history: [AppliedStep]
  /// Why nothing takes a step back, by its number, of all steps that ran or are pending; those with a way back are not
  /// in it.
  public let irreversible: [Int: String]
  /// The size of the file, in bytes, without its log.
  public let bytes: Int
  /// The settings of the file.
  public let cipher: CipherProfile
  /// Why the steps would be refused whatever the rows are, a sentence each: what the tables have that the store's model has
  /// not, or the reverse, triggers that no step has made and that a step would drop with their tables, and what no step has
  /// made and has a name that a step gives, and views and triggers of somebody else's that name what a step takes away, or the
  /// change of the file's format; empty when nothing is in the way.
  public let drift: [String]
  /// Whether the tables are those of the store's model.
  package let hasOwnTables: Bool
  /// The oldest version of steps that may still open the store.
  public let minimumReader: Int

  /// Whether an encrypted copy would be made before the steps, because one of them asks for it.
  public let makesBackup: Bool

  /// How many rows the steps write, and how long that may take.
  public let cost: MigrationCost

  /// The room on the disk that the steps take beside the file while they run, in bytes.
  public let neededBytes: Int

  /// Rows that would be refused, of all steps: opening would fail.
  public var refusals: [Refusal] { steps.flatMap(\.refusals) }
  /// The functions of the app that steps call and that this program has not got: running the steps is refused.
  public var missingTransforms: [String] { steps.flatMap(\.transforms).filter(\.isMissing).map(\.name) }
  /// Whether nothing would be done.
  public var isUpToDate: Bool { steps.isEmpty }
  /// What would be lost for good, of all steps.
  public var losses: [String] { steps.flatMap(\.losses) }
  /// What would be lost without the steps' authors having allowed it.
  public var unallowedLosses: [String] { steps.flatMap(\.unallowedLosses) }
}

extension MigrationPlan {
  /// - Parameters:
  ///   - goal: What the store is to come to.
  ///   - asksRows: Whether rows are asked what the steps will ask of them. The connection needs the functions of a store
  ///     then.
  ///   - makesBackups: Whether steps that ask for a copy get one.
  package init(
    _ inspection: Inspection, _ set: MigrationSet, _ goal: MigrationGoal = .latest, asksRows: Bool = false,
    makesBackups: Bool = true
  ) throws {
    self = try inspection.connection.transaction(.deferred) {
      try MigrationPlan(ofOneMoment: inspection, set, goal, asksRows, makesBackups)
    }
  }

  private init(
    ofOneMoment inspection: Inspection, _ set: MigrationSet, _ goal: MigrationGoal, _ asksRows: Bool,
    _ makesBackups: Bool
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
    // A later release may have run steps that this one cannot read, and be content with old readers.
    irreversible = (try? history.irreversible(with: set, file: inspection.path)) ?? [:]
    let amounts = try RowForecast.amounts(of: work.steps, in: connection)
    let rows = amounts.map(\.rows)
    var questions = RowQuestions(connection, try TouchedTables(model, connection), isSound: hasOwnTables)
    // Who looks at a store without asking its rows is not kept from it by what a pending step says.
    let trial = asksRows ? SQLTrial(set) : nil
    var steps: [Step] = []
    for (index, compiled) in work.steps.enumerated() {
      let leadsBack = index < work.back.count
      let asked = try questions.asked(by: compiled, trial)
      let reason = leadsBack ? nil : irreversible[compiled.step.number]
      steps.append(Step(compiled, leadsBack, asked, set.transforms, reason, rows: rows[index]))
    }
    self.steps = steps
    makesBackup = makesBackups && work.steps.contains(where: \.wantsBackup)
    storeVersion = history.version
    availableVersion = set.version
    targetVersion = work.version
    self.history = history.steps
    bytes = try DatabasePath(inspection.path).byteCount ?? 0
    // The log's pages are copied, too.
    let size = connection.contentBytes
    cost = MigrationCost(
      work, rows: rows, storeBytes: size ?? 0, makesBackups: makesBackups)
    neededBytes = work.neededBytes(
      amounts: amounts, storeBytes: size ?? 0, makesBackups: makesBackups)
    cipher = connection.unlocked.profile
    minimumReader = history.minimumReader
  }

  /// The history of a store, whose errors call the file as its user did.
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
    _ compiled: CompiledStep, _ leadsBack: Bool,
    _ asked: RowQuestions, _ functions: TransformTable, _ irreversible: String?, rows: Int
  ) {
    let statements = compiled.parts.flatMap(\.statements)
    self.rows = rows
    (number, name, self.leadsBack) = (compiled.step.number, compiled.step.name, leadsBack)
    (operations, sql) = (compiled.step.operations.map(\.summary), statements.map(\.text))
    (losses, unallowedLosses) = (compiled.losses, compiled.unallowedLosses)
    emptied = compiled.emptied
    let copied = statements.compactMap { if case .copy(let copy) = $0 { copy.source } else { nil } }
    // A data block between two changes has a table written twice.
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
  /// A loss, and what it takes along under another name.
  package func text(ofLoss loss: String) -> String { lossText(loss, emptied) }
}

extension MigrationPlan {
  /// A loss of any step, and what it takes along under another name.
  package func text(ofLoss loss: String) -> String {
    steps.first { $0.emptied[loss] != nil }?.text(ofLoss: loss) ?? loss
  }
}

extension MigrationPlan.Refusal: CustomStringConvertible {
  /// The operation, what is so, and what to do.
  public var description: String { "\(operation): \(text)" }
}
