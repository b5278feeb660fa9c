// What a plan asks of rows that are there: whom they refuse, what could not be asked, and with how many of them each function
// is called.

internal import CipherSQLite

/// The questions of one pending step, and their answers.
struct RowQuestions {
  private let connection: Connection
  /// What earlier parts have touched.
  private var touched: TouchedTables
  /// Whether the tables are those of the model, so that they can be asked at all.
  private let isSound: Bool

  private(set) var refusals: [MigrationPlan.Refusal] = []
  /// Sentences that say what could not be asked, and why.
  private(set) var unasked: [String] = []
  /// The operations that one of those sentences is about, or of which all is known that there is to ask.
  private var settledOperations: Set<String> = []
  /// Of each function, in order; nil where nobody knows.
  private(set) var counts: [Int?] = []

  init(_ connection: Connection, _ touched: TouchedTables, isSound: Bool) {
    (self.connection, self.touched, self.isSound) = (connection, touched, isSound)
  }

  /// The questions of the next step, with their answers, if rows are asked at all.
  /// - Parameter trial: Knows what data blocks write to; nil where no row is asked.
  mutating func asked(by step: CompiledStep, _ trial: SQLTrial?) throws -> RowQuestions {
    var next = RowQuestions(connection, touched, isSound: isSound)
    if let trial { try next.ask(step, writing: trial.run(step)) }
    self = next
    return next
  }

  /// - Parameter written: The tables that data blocks write to, by the places of the step's parts.
  private mutating func ask(_ compiled: CompiledStep, writing written: [Int: Set<String>]) throws {
    for (index, part) in compiled.parts.enumerated() {
      // What a composite operation asks of its pieces is not all: see below.
      if !part.hasAskedBefore { try ask(part) }
      try count(part)
      touched.follow(part, writing: written[index], of: compiled.step)
    }
    for operation in compiled.step.operations where operation.rules.refusesLate {
      guard settledOperations.insert(operation.summary).inserted else { continue }
      let open =
        if case .rows = operation.subject { "what it does to rows is" } else { "rows that it refuses are" }
      unasked.append("\(operation.summary): \(open) found when the step runs")
    }
  }

  // MARK: Questions

  private mutating func ask(_ part: CompiledStep.Part) throws {
    for planned in part.planned + (part.compiler?.fittingChecks() ?? []) {
      switch planned.statement {
      case .mustBeEmpty(let check):
        let answer = try answer {
          guard let question = check.beforehand else {
            return .unasked("the step itself makes what it is about")
          }
          return try touched.answer(question, connection)
        }
        note(planned, answer) { .init(check, by: $0, count: $1, rows: $2) }
        if check.rule == .fitting { settledOperations.insert(planned.blamed(for: "")) }
      case .require(let text, let query):
        let answer = try answer { try touched.answer(toRequirement: text, query, connection) }
        // No rows are counted: one value answers.
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

  // MARK: Answers

  private func answer(_ body: () throws -> TouchedTables.Answer) rethrows -> TouchedTables.Answer {
    isSound ? try body() : .unasked("the tables are not as the model says")
  }

  /// - Parameter refusal: Makes what is told of rows, of which it gets the operation, the number and the first ids.
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
  /// Whether it is a piece of an operation that asks for its pieces before it writes rows, of which none can be asked later.
  fileprivate var hasAskedBefore: Bool {
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
