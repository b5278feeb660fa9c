// The encrypted copy that is made before a step which loses or rewrites values. The transaction protects a store
// against a crash; the copy protects it against a step that does what its author wrote and not what was meant.

internal import CipherSQLite
private import Foundation

enum MigrationBackup {
  /// How many copies of a store are kept beside it.
  static let kept = 2

  /// What stands behind the name of a copy until its migration is done. A migration that is killed leaves one
  /// such file, and the next one removes it: copies would else add up, each as large as the store.
  private static let unfinished = ".unfinished"

  /// Copies the store to a file beside it, which is to be called `notes.store.v6-20261120T201502Z.backup`.
  ///
  /// - Parameters:
  ///   - connection: Holds the write lock, so that nobody changes the store between the copy and the steps.
  ///   - version: The store's version.
  ///   - check: Called every 256 pages; what it throws ends the copying.
  static func make(of connection: Connection, version: Int, check: () throws -> Void) throws -> String {
    let path = try freeName(for: connection.path, version: version)
    removeUnfinished(of: connection.path)
    do {
      // A second connection: the engine does not copy from one that is inside a writing transaction.
      var settings = Connection.Configuration()
      settings.access = .readOnly
      let source = try Connection.open(
        connection.path, unlocked: connection.unlocked, configuration: settings)
      defer { source.close() }
      try source.backup(to: path + unfinished) { _, _ in try check() }
      return path
    } catch let error as SQLError {
      throw StoreError.backupFailed(file: connection.path, backup: path, reason: "\(error)")
    }
  }

  /// Gives a copy its name, right before the commit of what it is the copy before.
  static func complete(_ path: String, of store: String) throws {
    // A link and no renaming, which would replace what has the name.
    guard link(path + unfinished, path) == 0 else {
      let reason = "it could not be named: \(String(cString: strerror(errno)))"
      throw StoreError.backupFailed(file: store, backup: path, reason: reason)
    }
    unlink(path + unfinished)
  }

  /// Removes a copy, in whichever state it is. Not by FileManager, which would remove a folder with all in it.
  static func remove(_ path: String) {
    unlink(path)
    unlink(path + unfinished)
  }

  /// Under the store's write lock, so that nobody is making one.
  private static func removeUnfinished(of path: String) {
    for name in existing(of: path, suffix: unfinished) { unlink(name) }
  }

  /// Removes all copies of a store but the newest.
  static func prune(of path: String) {
    for name in existing(of: path).dropLast(kept) { remove(name) }
  }

  /// The copies of a store, oldest first.
  static func existing(of path: String) -> [String] { existing(of: path, suffix: "") }

  private static func existing(of path: String, suffix: String) -> [String] {
    let folder = (path as NSString).deletingLastPathComponent
    let prefix = (path as NSString).lastPathComponent + ".v"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.isEmpty ? "." : folder)) ?? []
    return names.filter { $0.hasPrefix(prefix) && $0.hasSuffix(suffix) }
      .compactMap { name in
        time(of: name.dropFirst(prefix.count).dropLast(suffix.count)).map { (name, $0) }
      }
      .sorted { $0.1 < $1.1 }
      .map { (folder as NSString).appendingPathComponent($0.0) }
  }

  /// The time in what follows a store's name and `.v`; nil when the file is not one of ours.
  private static func time(of rest: Substring) -> Substring? {
    rest.wholeMatch(of: #/\d+-(\d{8}T\d{6}Z(?:-\d+)?)\.backup/#)?.output.1
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
