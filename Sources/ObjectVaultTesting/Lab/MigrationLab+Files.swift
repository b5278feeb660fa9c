// Checks with stores that were shipped, which may contain data that no generator makes.

public import CipherSQLite
public import Foundation
internal import ObjectVault

extension MigrationLab {
  /// Migrates a copy of a real store, which an earlier release of the app has made, to the last version,
  /// and checks it.
  ///
  /// The checks are those of ``checkEveryPath()``. The file does not change, and no message contains its
  /// values.
  /// - Parameters:
  ///   - url: The file. If the store was not closed, its WAL (`-wal`) has to be in the same folder.
  ///   - key: Its key; by default the lab's.
  /// - Throws: ``CheckFailure``, also for a file that does not exist or cannot be opened; the error of
  ///   copying the file.
  public func checkGolden(_ url: URL, key: Key? = nil) async throws {
    var lab = self
    if let key { lab = MigrationLab(self, key: key) }
    let golden = lab
    let folder = try TestFolder(isInMemory: true)
    do {
      try await golden.checkGolden(url, in: folder, hasKey: key != nil)
    } catch let failure as CheckFailure {
      // Messages name the file that the test gave, not the copy.
      let copy = folder.file(LabStore.fileName).path
      throw CheckFailure(
        failure.check, at: failure.place,
        findings: failure.findings.map { $0.replacing(copy, with: url.path) },
        advice: failure.advice?.replacing(copy, with: url.path))
    }
  }

  /// Migrates a copy of a real store, and checks it.
  /// - Parameters:
  ///   - folder: The folder for the copy.
  ///   - hasKey: Whether the test has given the key of the file.
  private func checkGolden(_ url: URL, in folder: TestFolder, hasKey: Bool) async throws {
    try await run("checkGolden", at: url.lastPathComponent, refusal: Self.shipped) {
      let file = try Self.copy(of: url, in: folder)
      let before: StoreContent
      do { before = try StoreContent(at: file.url, key: key) } catch SQLError.wrongKey {
        throw CheckFailure(
          "", at: "", findings: ["\(url.path) cannot be decrypted with the given key"],
          advice: hasKey
            ? "Check the key, and check that the file is a store."
            : "Pass the key of the file: checkGolden(url, key: .passphrase(…)). The default is the lab's "
              + "key, which is random."
        )
      }
      let place = "version \(before.version) to \(migrations.version)"
      _ = try await Store.migrate(at: file.url, key: key, migrations: migrations, makesBackups: false)
      try require(
        try await findings(at: file.url, version: migrations.version), by: "checkGolden", at: place)
      try await requireKept(
        before: before, after: StoreContent(at: file.url, key: key), by: "checkGolden", at: place,
        showsValues: false
      ) { try Self.copy(of: url, in: TestFolder(isInMemory: true)) }
    }
  }

  private static let shipped =
    "Users have stores like this one: the step must first correct the rows that it rejects. Messages contain "
    + "no values: look at the row with the sqlcipher shell."

  private static func copy(of url: URL, in folder: TestFolder) throws -> FolderFile {
    guard FileManager.default.fileExists(atPath: url.path) else { throw SQLError.notFound(file: url.path) }
    let file = folder.withFile(LabStore.fileName)
    try copyDatabaseFiles(url, to: file.url)
    return file
  }

  /// Migrates a copy of a real store, given by its path, to the last version, and checks it.
  /// - Parameters:
  ///   - path: The path of the file.
  ///   - key: Its key; by default the lab's.
  /// - Throws: As ``checkGolden(_:key:)-(URL,_)``.
  public func checkGolden(_ path: String, key: Key? = nil) async throws {
    try await checkGolden(URL(fileURLWithPath: path), key: key)
  }
}
