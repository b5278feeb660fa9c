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
    let golden = lab
    try await golden.run("checkGolden", url.lastPathComponent, refusal: Self.shipped) {
      let file = try Self.copy(of: url)
      let before: StoreContent
      do { before = try StoreContent(at: file.url, key: golden.key) } catch SQLError.wrongKey {
        throw CheckFailure(
          "", "", ["\(url.path) cannot be decrypted with the key that was given"],
          advice: key == nil
            ? "Say which key it has: checkGolden(url, key: .passphrase(…)). Without one it is the lab's, which is random."
            : "Check the key, and that the file is a store: store-migrate info.")
      }
      let place = "version \(before.version) to \(migrations.version)"
      _ = try await Store.migrate(at: file.url, key: golden.key, migrations: migrations, makesBackups: false)
      try require(
        try await golden.findings(at: file.url, version: migrations.version), "checkGolden", place)
      try await golden.requireKept(
        before, StoreContent(at: file.url, key: golden.key), "checkGolden", place, showsValues: false
      ) { try Self.copy(of: url) }
    }
  }

  private static let shipped =
    "Users have stores like this one: a step has to mend what it cannot take before that. Values are in no message: look "
    + "at the row with the sqlcipher shell."

  private static func copy(of url: URL) throws -> FolderFile {
    guard FileManager.default.fileExists(atPath: url.path) else { throw SQLError.notFound(file: url.path) }
    let file = try TestFolder(isInMemory: true).withFile(LabStore.fileName)
    try copyAsItLies(url, to: file.url)
    return file
  }

  /// The same of a file by its path.
  /// - Throws: As ``checkGolden(_:key:)-(URL,_)``.
  public func checkGolden(_ path: String, key: Key? = nil) async throws {
    try await checkGolden(URL(fileURLWithPath: path), key: key)
  }
}
