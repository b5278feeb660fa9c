// Preflight checks: which existing rows a pending step would reject, which checks cannot run yet, and how
// many rows each function of the app is called with.

internal import CipherSQLite

/// The preflight checks of one pending step, with their results.
struct PreflightChecks {
  private let connection: Connection
  /// The tables that earlier parts have changed.
  private var touched: TouchedTables
  /// Whether the tables are those of the model; otherwise no check can run.
  private let isSound: Bool

  private(set) var refusals: [MigrationPlan.Refusal] = []
  /// The checks that could not run, a sentence each, with the reason.
  private(set) var unasked: [String] = []
  /// The operations that `unasked` has a sentence about, or whose checks have all run.
  private var settledOperations: Set<String> = []
  /// The number of rows that each function of the app is called with, in order; nil where it is unknown.
  private(set) var counts: [Int?] = []

  init(_ connection: Connection, _ touched: TouchedTables, isSound: Bool) {
    (self.connection, self.touched, self.isSound) = (connection, touched, isSound)
  }

  /// Returns the checks of the next step, with their results if rows are checked at all.
  /// - Parameter trial: Reports what data blocks write to; nil when no row is checked.
  mutating func asked(by step: CompiledStep, _ trial: SQLTrial?) throws -> PreflightChecks {
    var next = PreflightChecks(connection, touched, isSound: isSound)
    if let trial { try next.ask(step, writing: trial.run(step)) }
    self = next
    return next
  }

  /// Runs the checks of a step.
  /// - Parameter written: The tables that data blocks write to, by the index of the part.
  private mutating func ask(_ compiled: CompiledStep, writing written: [Int: Set<String>]) throws {
    for (index, part) in compiled.parts.enumerated() {
      // The composite operation's own checks cover these parts.
      if !part.isCheckedByComposite { try ask(part) }
      try count(part)
      touched.follow(part, writing: written[index], of: compiled.step)
    }
    for operation in compiled.step.operations where operation.rules.refusesLate {
      guard settledOperations.insert(operation.summary).inserted else { continue }
      let open =
        if case .rows = operation.subject { "its effect on rows is" } else { "the rows that it rejects are" }
      unasked.append("\(operation.summary): \(open) only known when the step runs")
    }
  }

  // MARK: Checks

  private mutating func ask(_ part: CompiledStep.Part) throws {
    for planned in part.planned + (part.compiler?.fittingChecks() ?? []) {
      switch planned.statement {
      case .mustBeEmpty(let check):
        let answer = try answer {
          guard let question = check.beforehand else {
            return .unasked("the step itself computes the values")
          }
          return try touched.answer(question, connection)
        }
        note(planned, answer) { .init(check, by: $0, count: $1, rows: $2) }
        if check.rule == .fitting { settledOperations.insert(planned.blamed(for: "")) }
      case .require(let text, let query):
        let answer = try answer { try touched.answer(toRequirement: text, query, connection) }
        // There is no count of rows: the query returns one value.
        note(planned, answer) { _, _, _ in nil }
      default: break
      }
    }
  }

  private mutating func count(_ part: CompiledStep.Part) throws {
    for case .transform(let transform) in part.statements {
      try count(transform.entity, part.model)
    }
    for case let function? in part.operations.map(\.function) where function.takesValues {
      try count(function.entity, part.before)
    }
  }

  private mutating func count(_ entity: String, _ model: Schema) throws {
    counts.append(isSound ? try touched.count(of: entity, model, connection) : nil)
  }

  // MARK: Results

  private func answer(_ body: () throws -> TouchedTables.Answer) rethrows -> TouchedTables.Answer {
    isSound ? try body() : .unasked("the tables differ from the model")
  }

  /// Records a result.
  /// - Parameter refusal: Returns the refusal for an operation, a number of rows and their first ids; nil
  ///   for none.
  private mutating func note(
    _ planned: PlannedStatement, _ answer: TouchedTables.Answer,
    refusal: (String, Int, [Int64]) -> MigrationPlan.Refusal?
  ) {
    let operation = planned.blamed(for: "")
    switch answer {
    case .accepted: break
    case .refused(let count, let rows):
      if let refusal = refusal(operation, count, rows) { refusals.append(refusal) }
    case .failed(let reason):
      refusals.append(
        .init(
          operation: operation, entity: "", properties: [], rule: .requirement, count: 1, rows: [],
          text: ended(reason.prefix(1).uppercased() + reason.dropFirst())))
    case .unasked(let reason):
      settledOperations.insert(operation)
      let line = "\(operation): not known before the run: \(reason)"
      if !unasked.contains(line) { unasked.append(line) }
    }
  }
}

extension CompiledStep.Part {
  /// Whether the part belongs to a composite operation that makes all its checks before it writes rows. A
  /// plan cannot run the part's own checks: they need values that the operation writes first.
  fileprivate var isCheckedByComposite: Bool {
    compiler != nil && operations.contains { $0.composite?.refusesLate == false }
  }
}

extension MigrationPlan.Refusal {
  fileprivate init(_ check: RowCheck, by operation: String, count: Int, rows: [Int64]) {
    let first = rows.map(String.init).joined(separator: ", ") + (count > rows.count ? " and more" : "")
    self.init(
      operation: operation, entity: check.entity, properties: check.properties,
      rule: check.rule, count: count, rows: rows, text: check.sentences(count, rows: first))
  }
}
