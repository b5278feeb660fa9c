// What a plan asks of rows that are there: whom they refuse, what could not be asked, and with how many of them each function
// is called.

internal import CipherSQLite

/// The questions of one pending step, and their answers.
struct RowQuestions {
  private let connection: Connection
  /// The tables as they stand before the next part, by the rows of now.
  private(set) var standing: StandingTables
  /// Whether the tables are those of the model, so that they can be asked at all.
  private let isSound: Bool

  private(set) var refusals: [MigrationPlan.Refusal] = []
  /// Sentences that say what could not be asked, and why.
  private(set) var unasked: [String] = []
  /// The operations that one of those sentences is about.
  private var unaskedOperations: Set<String> = []
  /// Of each function, in order; nil where nobody knows.
  private(set) var counts: [Int?] = []

  init(_ connection: Connection, _ standing: StandingTables, isSound: Bool) {
    (self.connection, self.standing, self.isSound) = (connection, standing, isSound)
  }

  /// The questions of the next step, with their answers, if rows are asked at all.
  /// - Parameters:
  ///   - trial: Knows what data blocks write to; nil where no row is asked.
  ///   - later: The steps that run behind it.
  mutating func asked(by step: CompiledStep, _ trial: SQLTrial?, before later: ArraySlice<CompiledStep>)
    throws
    -> RowQuestions
  {
    var next = RowQuestions(connection, standing, isSound: isSound)
    if let trial { try next.ask(step, writing: trial.run(step), before: later) }
    self = next
    return next
  }

  /// - Parameters:
  ///   - written: The tables that data blocks write to, by the places of the step's parts.
  ///   - later: The steps that run behind it.
  private mutating func ask(
    _ compiled: CompiledStep, writing written: [Int: Set<String>], before later: ArraySlice<CompiledStep>
  ) throws {
    for (index, part) in compiled.parts.enumerated() {
      // What a composite operation asks of its pieces is not all: see below.
      let planned = part.hasAskedBefore ? [] : part.planned + (part.compiler?.forecastChecks() ?? [])
      try ask(planned, isBehind: false)
      try askPartners(of: part, in: compiled.step, behind: compiled.parts[..<index]) {
        compiled.parts[(index + 1)...] + later.flatMap(\.parts)
      }
      try askRequirements(of: part)
      try count(part)
      standing.follow(part, part.compiler?.forecast() ?? [], writing: written[index], of: compiled.step)
      try ask(planned, isBehind: true)
    }
    for operation in compiled.step.operations where operation.rules.refusesLate {
      // Whoever said why it could not be asked has said enough.
      guard unaskedOperations.insert(operation.summary).inserted else { continue }
      unasked.append("\(operation.summary): rows that it refuses are found when the step runs")
    }
  }

  // MARK: Questions

  private mutating func ask(_ planned: [PlannedStatement], isBehind: Bool) throws {
    for planned in planned {
      if case .mustBeEmpty(let check) = planned.statement, check.planned.isBehind == isBehind {
        try ask(planned, check.planned, of: standing)
      }
    }
  }

  private mutating func ask(_ planned: PlannedStatement, _ check: RowCheck, of standing: StandingTables)
    throws
  {
    try note(planned, answer { try standing.answer(check, connection) }) {
      .init(check, by: $0, count: $1, rows: $2)
    }
  }

  /// - Parameters:
  ///   - former: What runs before the part in its step.
  ///   - later: What runs behind the part.
  private mutating func askPartners(
    of part: CompiledStep.Part, in step: MigrationStep, behind former: ArraySlice<CompiledStep.Part>,
    before later: () -> ArraySlice<CompiledStep.Part>
  ) throws {
    guard let compiler = part.compiler else { return }
    let checks = compiler.partnerChecks(behind: former.flatMap(\.operations))
    guard !checks.isEmpty else { return }
    // As they are when the second ends are filled: what the run itself fills leads to somebody by then.
    var behind = standing
    behind.follow(part, compiler.forecast(isPaired: false), writing: nil, of: step)
    for planned in checks {
      guard case .mustBeEmpty(let check) = planned.statement else { continue }
      let ends = part.model.ends(of: check.properties[0], in: check.entity)
      if later().allSatisfy({ $0.leavesAlone(ends) }) {
        try ask(planned, check, of: behind)
      } else {
        // A block may part those who lead to one, and an end of the pair may go: it is asked behind all steps.
        note(planned, .unasked("what runs behind it may change them")) { _, _, _ in nil }
      }
    }
  }

  private mutating func askRequirements(of part: CompiledStep.Part) throws {
    for planned in part.planned {
      guard case .require(let text, let query) = planned.statement else { continue }
      let answer = try answer { try standing.answer(toRequirement: text, query, connection) }
      // No rows are counted: one value answers.
      note(planned, answer) { _, _, _ in nil }
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
    counts.append(isSound ? try standing.count(of: entity, model, connection) : nil)
  }

  // MARK: Answers

  private func answer(_ body: () throws -> StandingTables.Answer) rethrows -> StandingTables.Answer {
    isSound ? try body() : .unasked("the tables are not as the model says")
  }

  /// - Parameter refusal: Makes what is told of rows, of which it gets the operation, the number and the first ids.
  private mutating func note(
    _ planned: PlannedStatement, _ answer: StandingTables.Answer,
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
      unaskedOperations.insert(operation)
      let line = "\(operation): the rows could not be asked, for \(reason)"
      if !unasked.contains(line) { unasked.append(line) }
    }
  }
}

extension Schema {
  /// Both ends of a one-to-one: entity and property.
  fileprivate func ends(of name: String, in entity: String) -> [(entity: String, property: String)] {
    guard let relationship = flattenedEntity(named: entity)?.relationship(named: name) else { return [] }
    return [(entity, name)] + (relationship.inverse.map { [(relationship.destination, $0)] } ?? [])
  }
}

extension CompiledStep.Part {
  /// Whether it is a piece of an operation that asks for its pieces before it writes rows, of which none can be asked later.
  fileprivate var hasAskedBefore: Bool {
    compiler != nil && operations.contains { $0.composite?.refusesLate == false }
  }

  /// Whether a part changes no row's partner and takes neither end of a one-to-one away, which its names alone tell. A block may
  /// do anything.
  fileprivate func leavesAlone(_ ends: [(entity: String, property: String)]) -> Bool {
    guard !isData else { return isRequirement }
    return filled.isEmpty
      && operations.allSatisfy { operation in
        switch operation.subject {
        case .madeEntity, .madeIndex, .droppedIndex, .rawObject: true
        case .made(_, let name, _), .dropped(_, let name, _), .renamed(_, let name, _, _),
          .changed(_, let name),
          .moved(_, let name, _):
          // Whichever entity of a family it names.
          !ends.contains { $0.property == name }
        case .renamedEntity(let name, _): !ends.contains { $0.entity == name }
        // The rows of an entity below an end stand in the table of the end.
        case .droppedEntity(let name): !ends.contains { before.root(of: $0.entity) == before.root(of: name) }
        case .movedEntity, .mergedEntity, .parts, .rows: false
        }
      }
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
