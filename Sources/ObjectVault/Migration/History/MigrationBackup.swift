// The encrypted copy that is made before a step which loses or rewrites values. The transaction protects a store
// against a crash; the copy protects it against a step that does what its author wrote and not what was meant.

internal import CipherSQLite
private import Foundation

package enum MigrationBackup {
  /// The end of the reason why a copy could not be made, where a run can do without one.
  package static let withoutCopy = "do without the copy"

  /// How many copies of a store are kept beside it.
  static let kept = 2

  /// What stands behind the name of a copy until its migration is done. A migration that is killed leaves one
  /// such file, and the next one removes it: copies would else add up, each as large as the store.
  private static let unfinished = NewName.unfinished

  /// Copies the store to a file beside it, which is to be called `notes.store.v6-20261120T201502Z.backup`.
  ///
  /// - Parameters:
  ///   - connection: Holds the write lock, so that nobody changes the store between the copy and the steps.
  ///   - version: The store's version.
  ///   - check: Called every 256 pages; what it throws ends the copying.
  static func make(of connection: Connection, version: Int, check: () throws -> Void) throws -> String {
    let path = try freeName(for: connection.file.path, version: version)
    removeUnfinished(of: connection.file)
    do {
      // A second connection: the engine does not copy from one that is inside a writing transaction.
      var settings = Connection.Configuration()
      settings.access = .readOnly
      let source = try Connection.open(
        connection.file, unlocked: connection.unlocked, configuration: settings)
      defer { source.close() }
      // The copy's indexes are compared with its tables, by the collations of the columns.
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

  /// Gives a copy its name, right before the commit of what it is the copy before.
  static func complete(_ path: String, of store: String) throws {
    do { try NewName.give(path, to: path + unfinished) } catch {
      throw StoreError.backupFailed(file: store, backup: path, reason: "it could not be named: \(error)")
    }
    Temporaries.unregister(path + unfinished)
  }

  /// Removes a copy, in whichever state it is. Not by FileManager, which would remove a folder with all in it.
  static func remove(_ path: String) {
    // It may have both names, where it could not be parted from the first one.
    if let file = try? DatabasePath(path) { NewName.finish(file) }
    // As long as it has the first name, what has the other one is somebody else's.
    if unsafe unlink(path + unfinished) != 0, errno == ENOENT { unsafe unlink(path) }
    Temporaries.unregister(path + unfinished)
  }

  /// While nobody is making one: under the store's write lock, or when nobody migrates it. What a copy is built as goes where
  /// nobody builds it any more.
  static func removeUnfinished(of file: DatabasePath) {
    let prefix = file.name + ".v"
    let names = Leftovers.names(in: file.folder).filter { $0.hasPrefix(prefix) }
    // A name is no proof: somebody may have called a file of theirs so.
    for name in names where isCopy(name, of: file, suffix: unfinished) && file.isOriginal(of: name) {
      unsafe unlink(file.sibling(name))
    }
    Leftovers.sweep(file.folder, names) { isCopy($0, of: file, suffix: unfinished) }
  }

  /// Behind a store's name and `.v`: its version, the time, and a number where several were made in one second.
  private static func isCopy(_ name: String, of file: DatabasePath, suffix: String) -> Bool {
    name.hasSuffix(suffix)
      && name.dropFirst(file.name.count + 2).dropLast(suffix.count).wholeMatch(
        of: #/\d{1,9}-\d{8}T\d{6}Z(?:-\d{1,9})?\.backup/#) != nil
  }

  /// How a copy would be called that is made now.
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
