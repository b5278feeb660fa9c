// Stores that were shipped: what no generator thinks of.

public import CipherSQLite
public import Foundation
internal import ObjectVault

extension MigrationLab {
  /// Migrates a copy of a real store to the last version: a file that an earlier release of the app has made.
  ///
  /// What is asked of it is what ``checkEveryPath()`` asks. The file stays as it is; values of it are in no message.
  /// - Parameters:
  ///   - url: The file. What lies beside it of a store that was open (`-wal`) belongs to it.
  ///   - key: Its key; by default the lab's.
  /// - Throws: ``CheckFailure``; `SQLError.notFound`, and what opening it throws.
  public func checkGolden(_ url: URL, key: Key? = nil) async throws {
    var lab = self
    if let key { lab = MigrationLab(self, key: key) }
    let name = url.lastPathComponent
    try await lab.run("checkGolden", name) {
      let folder = try TestFolder(isInMemory: true)
      let copy = folder.file(LabStore.fileName)
      guard FileManager.default.fileExists(atPath: url.path) else { throw SQLError.notFound(file: url.path) }
      try copyAsItLies(url, to: copy)
      let before = try StoreContent(at: copy, key: lab.key)
      _ = try await Store.migrate(at: copy, key: lab.key, migrations: migrations, makesBackups: false)
      try require(
        try await lab.findings(at: copy, version: migrations.version), "checkGolden",
        "\(name), version \(before.version) to \(migrations.version)")
      try lab.requireKept(
        before, StoreContent(at: copy, key: lab.key), "checkGolden", showsValues: false)
    }
  }

  /// The same of a file by its path.
  /// - Throws: As ``checkGolden(_:key:)-(URL,_)``.
  public func checkGolden(_ path: String, key: Key? = nil) async throws {
    try await checkGolden(URL(fileURLWithPath: path), key: key)
  }
}
