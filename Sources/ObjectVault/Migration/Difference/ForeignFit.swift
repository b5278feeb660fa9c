// Views and triggers of somebody else that ran before the steps of a transaction run behind them: an app whose saves wake a
// trigger that fits no longer could save nothing any more. What a plan can know of it beforehand is in ForeignReaders; a list of
// values without names, and an index by its name, show when the tables are others.

internal import CipherSQLite

/// The views and triggers of somebody else that the engine can run.
struct ForeignFit {
  private let fitting: [ForeignObject]

  /// Those of a file that has the tables of a model.
  init(_ model: Schema, _ connection: Connection) throws {
    fitting = try ForeignObjects(layout: model.layout).readers(connection).filter {
      try $0.misfit(connection) == nil
    }
  }

  /// - Parameter model: That behind the steps.
  /// - Throws: ``StoreError/stepsObstructed(file:obstacles:)`` with those that the engine cannot run any more.
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
  /// What the engine has against running a view or a trigger; nil where it fits.
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

  /// Whether a message of the engine's is about something that it names: the engine reads whatever a view or a statement leads
  /// to, and does not say where it met what it has against it.
  func isNamed(in message: String) -> Bool {
    !SQLTemplate.words(message).isDisjoint(with: SQLTemplate.words(sql).subtracting(Self.wordsOfMessages))
  }

  private static let wordsOfMessages: Set<String> = [
    "no", "such", "table", "column", "columns", "function", "index", "has", "named", "main", "but", "values",
    "were", "expected", "for", "got",
  ]
}
