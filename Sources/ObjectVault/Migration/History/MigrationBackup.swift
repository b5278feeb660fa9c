// The encrypted copy that is made before a step which loses or rewrites values. The transaction protects
// a store against a crash. The copy protects it against a step that runs as written, but does not do what
// its author intended.

internal import CipherSQLite
private import Foundation

package enum MigrationBackup {
  /// The end of an error text, if a copy could not be made and the run may proceed without one.
  package static let withoutCopy = "migrate without a copy"

  /// The number of copies of a store that are kept.
  static let kept = 2

  /// The suffix of a copy's name until its migration is done. A killed migration leaves one such file,
  /// and the next migration removes it. Otherwise such copies, each as large as the store, would
  /// accumulate.
  private static let unfinished = ExclusiveRename.unfinished

  /// Copies the store to a file in its folder, whose final name is like
  /// `notes.store.v6-20261120T201502Z.backup`.
  ///
  /// - Parameters:
  ///   - connection: A connection with the write lock, so that the store cannot change between the copy
  ///     and the steps.
  ///   - version: The store's version.
  ///   - check: Called every 256 pages. If it throws, the copy is cancelled.
  /// - Returns: The final path of the copy.
  static func make(of connection: Connection, version: Int, check: () throws -> Void) throws -> String {
    let path = try freeName(for: connection.file.path, version: version)
    removeUnfinished(of: connection.file)
    do {
      // A second connection, because the engine cannot copy from a connection with an open write
      // transaction.
      var settings = Connection.Configuration()
      settings.access = .readOnly
      let source = try Connection.open(
        connection.file, unlocked: connection.unlocked, configuration: settings)
      defer { source.close() }
      // The copy's indexes are checked against its tables, which needs the collations of the columns.
      try source.adoptFunctions(of: connection)
      try source.backup(to: path + unfinished, isTemporary: true) { _, _ in try check() }
      return path
    } catch SQLError.pathUnusable(_, let reason) {
      throw StoreError.backupFailed(
        file: connection.path, backup: path,
        reason:
          "this path cannot be used: \(reason); give the store a shorter name, or \(withoutCopy)"
      )
    } catch let error as SQLError {
      throw StoreError.backupFailed(file: connection.path, backup: path, reason: "\(error)")
    }
  }

  /// Gives a copy its final name, right before the commit of the steps that it precedes.
  static func complete(_ path: String, of store: String) throws {
    do { try ExclusiveRename.give(path, to: path + unfinished) } catch {
      throw StoreError.backupFailed(file: store, backup: path, reason: "it could not be renamed: \(error)")
    }
    Temporaries.unregister(path + unfinished)
  }

  /// Removes a copy, finished or unfinished. FileManager is not used, because it would also remove a
  /// folder with its content.
  static func remove(_ path: String) {
    // The file has both names if its temporary name could not be removed.
    if let file = try? DatabasePath(path) { ExclusiveRename.finish(file) }
    // If the file still has its temporary name, a file with the final name is not this copy.
    if unsafe unlink(path + unfinished) != 0, errno == ENOENT { unsafe unlink(path) }
    Temporaries.unregister(path + unfinished)
  }

  /// Removes unfinished copies. Call it only while no copy is being made: under the store's write lock,
  /// or while no migration runs. Temporary files of a copy remain while a process still builds it.
  static func removeUnfinished(of file: DatabasePath) {
    let prefix = file.name + ".v"
    let names = Leftovers.names(in: file.folder).filter { $0.hasPrefix(prefix) }
    // A name is no proof: a user's file may have such a name.
    for name in names where isCopy(name, of: file, suffix: unfinished) && file.isOriginal(of: name) {
      unsafe unlink(file.sibling(name))
    }
    Leftovers.sweep(file.folder, names) { isCopy($0, of: file, suffix: unfinished) }
  }

  /// Removes all copies of a store that is being deleted. Files that only have such a name, and copies that
  /// a process has open, stay.
  static func removeAll(of file: DatabasePath) {
    for name in Leftovers.names(in: file.folder) where name.hasPrefix(file.name + ".v") {
      if isCopy(name, of: file, suffix: ""), file.isOriginal(of: name) { file.removeUnused(name) }
    }
    removeUnfinished(of: file)
  }

  /// Whether a name is that of a copy: the store's name, `.v` with the version, the time, and a number if
  /// several copies were made in one second.
  private static func isCopy(_ name: String, of file: DatabasePath, suffix: String) -> Bool {
    name.hasSuffix(suffix)
      && name.dropFirst(file.name.count + 2).dropLast(suffix.count).wholeMatch(
        of: #/\d{1,9}-\d{8}T\d{6}Z(?:-\d{1,9})?\.backup/#) != nil
  }

  /// Returns the name that a copy would get if it were made now.
  static func nextName(of file: DatabasePath, version: Int) throws -> String {
    DatabasePath.split(try freeName(for: file.path, version: version)).name
  }

  private static func freeName(for path: String, version: Int) throws -> String {
    let stamp = Date.now.formatted(
      .iso8601.year().month().day().time(includingFractionalSeconds: false).dateSeparator(.omitted)
        .timeSeparator(.omitted).timeZone(separator: .omitted))
    for suffix in [""] + (2...99).map({ "-\($0)" }) {
      let name = "\(path).v\(version)-\(stamp)\(suffix).backup"
      if !FileManager.default.fileExists(atPath: name) { return name }
    }
    throw SQLError.alreadyExists(file: "\(path).v\(version)-\(stamp).backup")
  }
}
