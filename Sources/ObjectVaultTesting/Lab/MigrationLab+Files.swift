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
    let folder = try TestFolder(isInMemory: true)
    do {
      try await golden.checkGolden(url, in: folder, hasKey: key != nil)
    } catch let failure as CheckFailure {
      // Whoever gave the file knows it by its path, and nothing of the copy.
      let copy = folder.file(LabStore.fileName).path
      throw CheckFailure(
        failure.check, failure.place, failure.findings.map { $0.replacing(copy, with: url.path) },
        advice: failure.advice?.replacing(copy, with: url.path))
    }
  }

  /// - Parameters:
  ///   - folder: Where the copy is to lie.
  ///   - hasKey: Whether somebody has said which key it has.
  private func checkGolden(_ url: URL, in folder: TestFolder, hasKey: Bool) async throws {
    try await run("checkGolden", url.lastPathComponent, refusal: Self.shipped) {
      let file = try Self.copy(of: url, in: folder)
      let before: StoreContent
      do { before = try StoreContent(at: file.url, key: key) } catch SQLError.wrongKey {
        throw CheckFailure(
          "", "", ["\(url.path) cannot be decrypted with the key that was given"],
          advice: hasKey
            ? "Check the key, and that the file is a store: store-migrate info."
            : "Say which key it has: checkGolden(url, key: .passphrase(…)). Without one it is the lab's, which is random."
        )
      }
      let place = "version \(before.version) to \(migrations.version)"
      _ = try await Store.migrate(at: file.url, key: key, migrations: migrations, makesBackups: false)
      try require(
        try await findings(at: file.url, version: migrations.version), "checkGolden", place)
      try await requireKept(
        before, StoreContent(at: file.url, key: key), "checkGolden", place, showsValues: false
      ) { try Self.copy(of: url, in: TestFolder(isInMemory: true)) }
    }
  }

  private static let shipped =
    "Users have stores like this one: a step has to mend what it cannot take before that. Values are in no message: look "
    + "at the row with the sqlcipher shell."

  private static func copy(of url: URL, in folder: TestFolder) throws -> FolderFile {
    guard FileManager.default.fileExists(atPath: url.path) else { throw SQLError.notFound(file: url.path) }
    let file = folder.withFile(LabStore.fileName)
    try copyAsItLies(url, to: file.url)
    return file
  }

  /// The same of a file by its path.
  /// - Throws: As ``checkGolden(_:key:)-(URL,_)``.
  public func checkGolden(_ path: String, key: Key? = nil) async throws {
    try await checkGolden(URL(fileURLWithPath: path), key: key)
  }
}
