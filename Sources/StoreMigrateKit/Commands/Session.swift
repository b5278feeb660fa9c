// What a command works with: its arguments, and what they refer to, which is read only when it is needed.

import CipherSQLite
import Foundation
import ObjectVault

/// One run of a command: its arguments, and its access to everything outside.
struct Session: Sendable {
  let arguments: Arguments
  let bundled: BundledSteps
  /// The app's classes; nil in the plain `store-migrate`.
  let model: Schema?
  /// The app's functions that steps call.
  var transforms: [MigrationTransform] = []
  let standardError: @Sendable (String) -> Void
  /// Collects the warnings that belong in the report; nil when they go to standard error.
  var warnings: Locked<[String]>?
  /// The reaction to signals.
  let interruption: Interruption
  /// The output for rows, which are written while they are read.
  let rows: RowSink

  /// Warns of an option or setting that may not be intended: in the report, or on standard error.
  func warn(_ text: String) {
    if let warnings { warnings.withLock { $0.append(text) } } else { standardError("warning: \(text)") }
  }

  /// The progress of the run, which a signal cancels.
  var progress: Progress { interruption.progress }

  /// Returns the callback for progress of the library's calls: it updates a bar, and throws after a
  /// signal.
  func steps(_ bar: ProgressBar) -> (Int, Int) throws -> Void {
    { done, total in
      bar.show(done, of: total)
      try interruption.check()
    }
  }

  /// Runs `body`, which reports to ``progress``, and shows on a terminal how far its steps are.
  func showingSteps<Result: Sendable>(
    _ label: String, waiting: WaitingLine, _ body: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    let bar = ProgressBar(label, unit: "rows", self)
    guard bar.isLive else { return try await body() }
    defer { bar.finish() }
    waiting.hold()
    let isDone = Locked(false)
    async let result = {
      defer { isDone.withLock { $0 = true } }
      return try await body()
    }()
    // Changes of a Progress are not observable on every system, so it is polled.
    while !isDone.withLock({ $0 }) {
      for line in waiting.take() { bar.say(line) }
      let doing = progress.userInfo[.storeRunsStatement] as? String
      bar.show(
        Int(progress.completedUnitCount), of: Int(progress.totalUnitCount), doing: doing.map { printable($0) }
      )
      try? await Task.sleep(for: .milliseconds(20))
    }
    let value = try await result
    bar.show(Int(progress.completedUnitCount), of: Int(progress.totalUnitCount))
    return value
  }

  /// The command's name.
  let command: String
  /// Whether the error for a missing store offers its creation: see ``Command/offersCreation``.
  let offersCreation: Bool

  /// Checks the values of options before anything is opened, so that a mistyped number is reported as a
  /// mistake in the command line and not as one of the store.
  /// - Throws: ``UsageError``.
  func checkValues() throws {
    _ = (try lockTimeout(), try KeySource.budget(arguments), try profile(), try newProfile())
    _ = (try allowances(), try commitsEachStep(), try arguments.count("--to"))
    guard try arguments.count("--steps") != 0 else {
      throw UsageError("--steps takes a number that is 1 or more, not 0.")
    }
  }

  /// Returns an argument after the command's name, counted from 0. The first is usually the store's path.
  func positional(_ index: Int) -> String { arguments.positional[index + 1] }

  var storePath: String { positional(0) }

  /// The summary of the store after the command, with its present size.
  var storeAfterwards: StoreSummary { StoreSummary(at: storePath) }

  /// The folder that `--migrations` names; `Migrations` by default.
  var migrationsFolder: URL { URL(fileURLWithPath: arguments.value("--migrations") ?? "Migrations") }

  /// Returns the steps that the tool was built with; those of the folder with `--migrations`, and in a
  /// tool without steps.
  func migrations() throws -> MigrationSet {
    if arguments.value("--migrations") == nil, let set = try bundled.required() { return set }
    try requireFolder(migrationsFolder)
    return try steps(in: migrationsFolder).transforming(as: bundled.set).transforming(by: transforms)
  }

  func key() throws -> Key {
    // Checked first, so that no key is requested when there is nothing to open.
    guard try DatabasePath.isTaken(storePath) else {
      if let link = danglingLink(storePath) {
        throw RefusedError(code: .notFound, description: "\(link)")
      }
      guard offersCreation, let creation else { throw SQLError.notFound(file: storePath) }
      throw RefusedError(
        code: .notFound,
        description:
          "\(storePath): there is no such file. Check the path, or create the store:\n      \(creation)")
    }
    return try KeySource(arguments: arguments, prefix: "key", standardError: standardError, warn: warn).read(
      for: storePath)
  }

  /// Returns the error for a path that is a dangling symbolic link; nil for any other path.
  func danglingLink(_ path: String) -> SQLError? {
    guard let file = try? DatabasePath(path), file.isDanglingLink else { return nil }
    return .danglingLink(file: path, target: file.path)
  }

  /// Checks that a file can be created at a path.
  /// - Throws: `SQLError.alreadyExists`, `SQLError.danglingLink`.
  func requireFree(_ path: String) throws {
    guard !FileManager.default.fileExists(atPath: path) else { throw SQLError.alreadyExists(file: path) }
    if let link = danglingLink(path) { throw link }
  }

  /// Checks that there is a file at a path.
  /// - Throws: `SQLError.notFound`; ``RefusedError`` for a dangling symbolic link.
  func requireThere(_ path: String) throws {
    guard try !DatabasePath.isTaken(path) else { return }
    if let link = danglingLink(path) { throw RefusedError(code: .notFound, description: "\(link)") }
    throw SQLError.notFound(file: path)
  }

  /// Returns the key for a new store. At a prompt, the user types it twice.
  func keyOfNewFile() throws -> Key {
    try KeySource(
      arguments: arguments, prefix: "key", standardError: standardError, warn: warn, isOfNewFile: true
    )
    .read(for: storePath)
  }

  func newKey() throws -> Key {
    try KeySource(arguments: arguments, prefix: "new-key", standardError: standardError, warn: warn).read(
      for: storePath)
  }

  func inspection() throws -> Inspection {
    try inspection(key: try key())
  }

  /// Opens the store for reading.
  /// - Parameter waiting: How long to wait for a lock, in seconds; nil for the value of `--lock-timeout`.
  func inspection(key: Key, waiting seconds: Double? = nil) throws -> Inspection {
    let inspection = try Inspection(
      path: storePath, key: key, busyTimeout: try seconds ?? lockTimeout(), profile: try profile(),
      immutable: arguments.has("--immutable"))
    try StoreInfo.prepare(inspection.connection)
    return inspection
  }

  /// Returns the cipher settings that `--cipher` gives; nil when they are to be detected.
  func profile() throws -> CipherProfile? { try settings("--cipher") }

  /// Returns the cipher settings that `--new-cipher` gives; nil without it.
  func newProfile() throws -> CipherProfile? { try settings("--new-cipher") }

  private func settings(_ option: String) throws -> CipherProfile? {
    guard let profile = try CipherSettings.given(option, in: arguments)?.profile else { return nil }
    guard profile.isUsable else {
      throw UsageError(
        "\(option): \(Engine.current) does not support these settings: \(profile). "
          + "The page size is a power of two from 1024 to 65536 bytes. Rounds are from 1 to 2147483647. "
          + "A header has 0, 32, 48, 64, 80 or 96 bytes. A header, and other hashes than SHA1, need SQLCipher 4."
      )
    }
    return profile
  }

  /// Whether an option states where a new key comes from.
  var hasNewKey: Bool {
    ["new-key-file", "new-key-fd", "new-key-env", "new-key-command", "new-slots"].contains {
      arguments.value("--\($0)") != nil
    }
  }

  /// Returns the present key, with the salt that `--new-cipher` may give.
  func kept(_ key: Key) throws -> Key {
    try CipherSettings.given("--new-cipher", in: arguments)?.salt.map { key.withSalt($0) } ?? key
  }

  /// Returns the configuration of a command's connections.
  func configuration() throws -> Connection.Configuration {
    var configuration = Connection.Configuration()
    configuration.busyTimeout = try lockTimeout()
    configuration.profile = try profile()
    return configuration
  }

  /// Returns the configuration of a connection that only reads the state of a store after an error or a
  /// signal. It waits for a lock half a second at most, because the command itself has waited already.
  func lookingConfiguration() throws -> Connection.Configuration {
    var configuration = try configuration()
    configuration.busyTimeout = min(configuration.busyTimeout, 0.5)
    return configuration
  }

  /// Checks that an action is confirmed: by the flag, or by the user, who is asked.
  /// - Throws: ``RefusedError``, which names the flag.
  func confirm(_ what: String, allow flag: String) throws {
    if arguments.has(flag) { return }
    if !arguments.has("--no-input"), isatty(0) == 1 {
      standardError("\(what) Type yes to continue:")
      if readLine() == "yes" { return }
    }
    throw RefusedError(
      code: .refused,
      description: "\(what) To allow it, repeat the command with \(flag). Nothing was changed.")
  }

  func lockTimeout() throws -> Double { try arguments.seconds("--lock-timeout", default: 15) }
}

extension ProgressBar {
  /// Creates a bar that is silent with `--json` or `--quiet`.
  convenience init(_ label: String, unit: String = "pages", _ session: Session) {
    self.init(
      label, unit: unit,
      isSilent: session.arguments.has("--json") || session.arguments.has("--quiet"),
      line: session.standardError)
  }
}
