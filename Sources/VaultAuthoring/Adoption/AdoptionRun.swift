// Reads another program's file, and copies its rows into the tables of a new store. This happens in the
// transaction that creates the store; rows are counted and checked against the model.

internal import CipherSQLite
internal import Foundation
internal import ObjectVault

/// Determines what a file of another program becomes.
struct AdoptionReader {
  /// Reads a file.
  /// - Parameters:
  ///   - files: The external files of its values.
  ///   - relationships: The targets of to-ones that a Core Data file does not record; an empty target
  ///     means that the column is a plain number.
  ///   - steps: A model that also defines these targets, and the types of columns.
  /// - Throws: ``/ObjectVault/StoreError/adoptionRefused(file:reason:takesRows:)``;
  ///   ``/ObjectVault/StoreError/noEntity(name:similar:)``,
  ///   ``/ObjectVault/StoreError/noProperty(entity:property:similar:)`` and
  ///   ``/ObjectVault/StoreError/propertyMisused(entity:property:reason:)`` for `relationships` that do
  ///   not fit the file; ``/CipherSQLite/SQLError`` for the disk, memory or another process.
  static func adoption(
    _ file: ForeignFile, _ files: ExternalValues, relationships: [String: String], steps: Schema? = nil
  ) throws -> Adoption {
    let refuse = { (reason: String) in StoreError.adoptionRefused(file: file.path, reason: reason) }
    do {
      if let damage = try damage(file.connection) {
        throw refuse("it is damaged (\(damage)). Repair it with the program that made it, or use a backup")
      }
      let content = try ForeignContent(file.connection)
      if content.table(MetaTable.name) != nil {
        throw refuse(
          content.table(HistoryTable.name) != nil
            ? "it is a store of ObjectVault, or an unencrypted copy of one. Open it, or encrypt it, instead "
              + "of importing it"
            : "it has a table \(MetaTable.name), which is the name of a store's own table. Rename that table "
              + "with the program that made the file"
        )
      }
      guard !content.tables.isEmpty else { throw refuse("it has no tables. Check the path") }
      let adoption = try self.adoption(
        content, from: (file, files), relationships: relationships, steps: steps)
      guard let steps else { return adoption }
      // Targets from the caller take precedence, regardless of case.
      let given = Set(relationships.keys.map { $0.lowercased() })
      let told = AdoptionFit.toOnes(of: steps, otherThan: adoption).filter {
        !given.contains($0.key.lowercased())
      }
      guard !told.isEmpty else { return adoption }
      return try self.adoption(
        content, from: (file, files), relationships: relationships.merging(told) { given, _ in given },
        steps: steps)
    } catch let error as SQLError { throw unreadable(file.path, error) }
  }

  private static func adoption(
    _ content: ForeignContent, from source: (file: ForeignFile, files: ExternalValues),
    relationships: [String: String], steps: Schema?
  ) throws -> Adoption {
    let connection = source.file.connection
    guard CoreDataAdoption.isMade(content) else {
      guard let name = relationships.keys.min() else {
        return try TableAdoption.adoption(content, connection, steps: steps)
      }
      let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
      throw StoreError.propertyMisused(
        entity: parts.first ?? name, property: parts.count > 1 ? parts[1] : "",
        reason: "cannot be given a target, because this is not a Core Data file: it declares its references "
          + "itself")
    }
    return try CoreDataAdoption.adoption(
      content, connection, relationships: relationships, files: source.files, steps: steps)
  }

  /// Opens a file.
  /// - Throws: ``/ObjectVault/StoreError/adoptionRefused(file:reason:takesRows:)`` where the engine
  ///   cannot read its tables; ``/CipherSQLite/SQLError`` for file and key.
  static func open(
    _ path: String, key: Key?, profile: CipherProfile?, busyTimeout: Double
  ) throws -> ForeignFile {
    do {
      return try ForeignFile(path: path, key: key, busyTimeout: busyTimeout, profile: profile)
    } catch let error as SQLError { throw unreadable(path, error) }
  }

  /// The first finding of a quick check. A WITHOUT ROWID table that is sorted by an unavailable collation
  /// looks unsorted; that finding is ignored.
  private static func damage(_ connection: Connection) throws -> String? {
    let errors = try connection.integrityErrors(isQuick: true)
    guard try connection.hasUnknownCollations() else { return errors.first }
    return errors.first { !$0.contains("not in PRIMARY KEY order") }
  }

  /// The result code SQLITE_CORRUPT.
  private static let malformed = 11

  /// The error as a refusal of the file; unchanged when it concerns the disk, memory or another process.
  private static func unreadable(_ path: String, _ error: SQLError) -> any Error {
    let (code, message): (Int, String)
    switch error {
    case .schemaUnreadable(_, let reason): (code, message) = (malformed, reason)
    case .engine(let number, _, let text, _) where error.isOfStatement || number == malformed:
      (code, message) = (number, text)
    default: return error
    }
    if let match = message.firstMatch(of: #/no such (?:module|collation sequence|tokenizer): (.+)/#) {
      return StoreError.adoptionRefused(
        file: path,
        reason:
          "it needs \(match.1), which the program that made it provides, but SQLite "
          + "\(Engine.current.sqliteVersion) does not have (\(message)). Copy the tables that do not need it "
          + "into another file with that program")
    }
    return StoreError.adoptionRefused(
      file: path,
      reason: "its tables cannot be read (\(message), \(code)). It is damaged, or was made by a newer engine "
        + "than this one, SQLite \(Engine.current.sqliteVersion)")
  }
}

/// Fills a new store with the rows of a file.
struct AdoptionRun {
  let file: ForeignFile
  /// The external files of its values.
  let files: ExternalValues
  let fit: AdoptionFit
  /// The connection to the new store.
  let connection: Connection
  let model: Schema
  /// Cancels the import.
  let run: CancellableRun
  /// Counts the rows.
  let progress: Progress?

  /// Checks that nothing prevents the import, and that every loss is allowed.
  /// - Throws: ``/ObjectVault/StoreError/adoptionRefused(file:reason:takesRows:)``,
  ///   ``/ObjectVault/StoreError/adoptionLoses(file:losses:)``.
  static func check(_ fit: AdoptionFit, allowing losses: Set<String>, file: String) throws {
    guard fit.obstacles.isEmpty else {
      throw StoreError.adoptionRefused(file: file, reason: fit.obstacles.joined(separator: " "))
    }
    let left = fit.losses.filter { !losses.contains($0.name) }
    guard left.isEmpty else { throw StoreError.adoptionLoses(file: file, losses: left) }
  }

  /// Copies the rows, inside the transaction that creates the store, into its empty tables.
  func fill() throws {
    progress?.totalUnitCount = fit.fills.reduce(0) { $0 + $1.rows }
    var before: Int64 = 0
    for fill in fit.fills {
      try run.check()
      let copied: Int
      do {
        copied = try connection.transfer(
          from: file.connection, [fill.select.text], into: fill.target, columns: fill.columns.map(\.name)
        ) { rows in
          progress?.completedUnitCount = before + Int64(rows)
          try run.check()
        }
      } catch SQLError.constraint(let message, _, _) {
        // An unreadable external file may have left NULL in a required property. Then the file is
        // reported.
        try requireFilesRead()
        throw refused(
          "the rows of \(fill.source) do not fit \(fill.name): \(message). Write the step so that it fits "
            + "the rows")
      }
      try requireFilesRead()
      before += fill.rows
      let found = try connection.value("SELECT count(*) FROM \(SQLName(fill.target))")?.int64 ?? 0
      guard Int64(copied) == fill.rows, found == fill.rows else {
        throw refused(
          "\(counted(fill.rows, "row")) of \(fill.source) were counted, but \(found) were copied; another program "
            + "may have written to the file meanwhile"
        )
      }
    }
    try checkValues()
    try run.check()
    try raiseMarks()
  }

  /// Checks that no external file was unreadable: a value may be nil only if its file was counted as
  /// missing, which was allowed as a loss.
  private func requireFilesRead() throws {
    guard let reason = files.unread else { return }
    throw refused(
      "\(ended(reason)) Make it readable, or remove it before the import: a missing file is reported as a "
        + "loss, which can be allowed"
    )
  }

  /// Raises the high-water marks, so that no id is issued twice.
  private func raiseMarks() throws {
    for (entity, id) in fit.highestIDs { try RowIDs(connection: connection).raise(entity, to: id) }
  }

  private func checkValues() throws {
    let findings =
      try model.rowFindings(connection)
      + connection.foreignKeyViolations().prefix(3).map {
        "a row of \($0.first?.string ?? "") refers to a missing row"
      }
    guard let first = findings.first else { return }
    throw refused(
      "\(first)\(findings.count > 1 ? ", and \(findings.count - 1) more" : ""). Write the step so that it "
        + "fits the rows"
    )
  }

  private func refused(_ reason: String) -> StoreError { .adoptionRefused(file: file.path, reason: reason) }
}
