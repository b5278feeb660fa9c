// Stores for tests: each in a folder of its own, encrypted with a raw key, which takes no time to derive.

public import CipherSQLite
public import Foundation
import Microblog
import Migrations
public import ObjectVault

/// The key of all test stores.
public let testKey = Key.raw([UInt8](repeating: 0x5A, count: 32))

extension Key {
  /// A raw key from a word, for tests that are not about passphrases: SQLCipher 4 takes 0.2 s to derive a
  /// key from a passphrase.
  public static func named(_ word: String) -> Key {
    let bytes = Array(word.utf8)
    return .raw((0..<32).map { bytes[$0 % bytes.count] })
  }
}

/// The keys that `test-child` uses.
public let childKeys = (
  first: testKey, second: Key.raw([UInt8](repeating: 0x11, count: 32)),
  token: KeyFile.Unlock.rawKey([UInt8](repeating: 0x22, count: 32))
)

/// Whether tests run in their long form, as in `make torture`: `VAULT_LONG=1`.
public let isTorture = ProcessInfo.processInfo.environment["VAULT_LONG"] == "1"

/// The number of times that a test of crashes kills its child: 8, 300 in the long form, or `VAULT_KILLS`.
public let killCount =
  ProcessInfo.processInfo.environment["VAULT_KILLS"].flatMap { Int($0) } ?? (isTorture ? 300 : 8)

/// The seconds that tests of many processes or tasks run: 1, 60 in the long form, or `VAULT_SECONDS`.
public let childSeconds =
  ProcessInfo.processInfo.environment["VAULT_SECONDS"].flatMap { Double($0) } ?? (isTorture ? 60 : 1)

/// The number of random pairs of models that a test takes: 500 in the long form, or `VAULT_PAIRS`.
/// - Parameter short: The number in the short form.
public func pairCount(short: Int) -> Int {
  ProcessInfo.processInfo.environment["VAULT_PAIRS"].flatMap { Int($0) } ?? (isTorture ? 500 : short)
}

/// The transforms that steps call, shared with `test-child`.
public let childTransforms: [MigrationTransform] = [
  .objects("double") { object, _ in object["code"] = 2 * (object["code"] as Int) }
]

/// Starts `test-child`, lets it run for a random time after its first line, and kills it.
/// - Parameter mayFail: Whether it may end with its own error before, for instance after a vain wait for a
///   lock.
/// - Returns: The number of lines that it wrote.
/// - Throws: ``ChildCrash`` if it ended by another signal, or with an error.
public func runAndKillChild(
  _ mode: String, _ url: URL, after: ClosedRange<Double>, mayFail: Bool = false
) throws -> Int {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: builtExecutable("test-child"))
  process.arguments = [mode, url.path]
  let pipe = Pipe()
  process.standardOutput = pipe
  try process.run()
  var output = try pipe.fileHandleForReading.read(upToCount: 1) ?? Data()
  usleep(UInt32(Double.random(in: after) * 1_000_000))
  kill(process.processIdentifier, SIGKILL)
  output += try pipe.fileHandleForReading.readToEnd() ?? Data()
  process.waitUntilExit()
  let (reason, status) = (process.terminationReason, process.terminationStatus)
  guard reason == .exit ? status == 0 || mayFail : status == SIGKILL else {
    throw ChildCrash(mode: mode, signal: reason == .exit ? 0 : status, errors: "exit \(status)")
  }
  return String(decoding: output, as: UTF8.self).split(separator: "\n").count
}

/// Opens or creates a microblog with the steps of the package.
public func openMicroblog(_ url: URL, key: Key = testKey) async throws -> Store {
  try await Store.open(at: url, key: key, schema: microblog, migrations: MicroblogMigrations.all)
}

/// A store in a temporary folder. Both are removed with the value.
public final class TemporaryStore: Sendable {
  /// The folder of the store.
  public let folder: TemporaryFolder
  /// The open store.
  public let store: Store

  /// Creates the store.
  public init(_ schema: Schema, key: Key = testKey) async throws {
    folder = try TemporaryFolder()
    store = try await Store.open(
      at: folder.url.appendingPathComponent("test.store"), key: key, schema: schema,
      migrations: .creatingSchema)
  }

  /// Creates the store from the file of another one, which must be closed.
  public init(copying other: TemporaryStore) async throws {
    folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("test.store")
    try FileManager.default.copyItem(at: other.store.url, to: url)
    store = try await Store.open(
      at: url, key: testKey, schema: other.store.schema, migrations: .creatingSchema)
  }

  deinit { store.close() }

  /// A second store on the same file, as another process would have it.
  public func again() async throws -> Store {
    try await Store.open(at: store.url, key: testKey, schema: store.schema, migrations: .creatingSchema)
  }
}

/// Runs `test-child` to its end.
/// - Parameter signal: A signal that may end it.
/// - Returns: Its lines.
/// - Throws: ``ChildCrash`` if another signal ends it: its lines so far may be all that a test checks.
public func runChild(_ mode: String, _ path: String, allowing signal: Int32? = nil) throws -> [String] {
  let result = try runTool(builtExecutable("test-child"), [mode, path])
  guard !result.isKilled || result.status == signal else {
    throw ChildCrash(mode: mode, signal: result.status, errors: result.errors)
  }
  return result.output.split(separator: "\n").map(String.init)
}

/// A child that crashed, or failed.
public struct ChildCrash: Error {
  /// The mode of the child.
  public let mode: String
  /// The signal; 0 if the child failed.
  public let signal: Int32
  /// The text on standard error.
  public let errors: String
}
