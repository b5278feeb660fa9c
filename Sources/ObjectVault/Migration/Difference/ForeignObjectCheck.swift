// Checks that foreign views and triggers, which no step created, still work after the steps of a
// transaction: otherwise every save that fires a broken trigger would fail. Most faults are found in
// advance, by ForeignReaders in a plan. Two can be found only on the changed tables: a list of values
// without column names, and an index that SQL names.

internal import CipherSQLite

/// The foreign views and triggers that work before the steps.
struct ForeignObjectCheck {
  private let fitting: [ForeignObject]

  /// Finds the working views and triggers of a file that has the tables of a model.
  init(_ model: Schema, _ connection: Connection) throws {
    fitting = try ForeignObjects(layout: model.layout).readers(connection).filter {
      try $0.misfit(connection) == nil
    }
  }

  /// Checks that these views and triggers still work.
  /// - Parameter model: The model after the steps.
  /// - Throws: ``StoreError/stepsObstructed(file:obstacles:)`` with those that do not.
  func requireFit(_ model: Schema, _ connection: Connection) throws {
    guard !fitting.isEmpty else { return }
    let misfits = try ForeignObjects(layout: model.layout).readers(connection).filter(fitting.contains)
      .compactMap { found in try found.misfit(connection).map { (found, $0) } }
    guard !misfits.isEmpty else { return }
    let named = misfits.filter { $0.0.isNamed(in: $0.1) }
    throw StoreError.stepsObstructed(
      file: connection.path,
      obstacles: (named.isEmpty ? misfits : named).map { found, message in
        "\(found.title), and does not fit the tables that the steps make (\(message)). \(found.remedy)"
      })
  }
}

extension ForeignObject {
  /// Returns the engine's error for a view or a trigger; nil if it works.
  func misfit(_ connection: Connection) throws -> String? {
    do {
      let text =
        type == "view"
        ? "SELECT * FROM \(SQLName(name))"
        : try connection.statement(firing: RawObject(.trigger, name, sql: sql).event, on: table).text
      try connection.validate(sql: text)
      return nil
    } catch let error as SQLError where error.isOfStatement {
      if case .engine(_, _, let message, _) = error { return message }
      return "\(error)"
    }
  }

  /// Whether an engine's message has a name that the object uses. The engine checks everything that a
  /// statement uses, and its message does not name the faulty object.
  func isNamed(in message: String) -> Bool {
    !SQLTemplate.words(message).isDisjoint(with: SQLTemplate.words(sql).subtracting(Self.engineMessageWords))
  }

  /// Words of the engine's messages, which are not names.
  private static let engineMessageWords: Set<String> = [
    "no", "such", "table", "column", "columns", "function", "index", "has", "named", "main", "but", "values",
    "were", "expected", "for", "got",
  ]
}
