// What a command has to work with: its arguments, and what they lead to, asked for when it is needed.

import CipherSQLite
import Foundation
import ObjectVault

/// One run: its arguments, and the things that are read from outside.
struct Session: Sendable {
  let arguments: Arguments
  let bundled: BundledSteps
  /// The classes of the app; nil in the tool that is nobody's own.
  let model: Schema?
  /// The functions of the app that steps call.
  var transforms: [MigrationTransform] = []
  let standardError: @Sendable (String) -> Void
  /// What warnings are put into that belong to the report; nil where they go to standard error.
  var warnings: Locked<[String]>?
  /// What a signal does.
  let interruption: Interruption
  /// Where rows are written as they are read.
  let rows: RowSink

  /// Tells of what was asked for and may not be meant: beside the report, or in it.
  func warn(_ text: String) {
    if let warnings { warnings.withLock { $0.append(text) } } else { standardError("warning: \(text)") }
  }

  /// Cancelled by a signal.
  var progress: Progress { interruption.progress }

  /// What the library's calls report to: a bar, and the end of the call after a signal.
  func steps(_ bar: ProgressBar) -> (Int, Int) throws -> Void {
    { done, total in
      bar.show(done, of: total)
      try interruption.check()
    }
  }

  /// Shows on a terminal how far steps are that `body` runs, by ``progress``.
  func showingSteps<Result: Sendable>(
    _ label: String, _ waiting: WaitingLine, _ body: @escaping @Sendable () async throws -> Result
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
    // Nobody tells of a change of a Progress on every system, so it is looked at.
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

  /// The command's own name.
  let command: String
  /// See ``Command/offersCreation``.
  let offersCreation: Bool

  /// Before anything is opened: a mistyped number is a mistake of the line and not of the store.
  /// - Throws: ``UsageError``.
  func checkValues() throws {
    _ = (try lockTimeout(), try KeySource.budget(arguments), try profile(), try newProfile())
    _ = (try allowances(), try commitsEachStep(), try arguments.count("--to"))
    guard try arguments.count("--steps") != 0 else {
      throw UsageError("--steps takes a number from 1 on, not 0.")
    }
  }

  /// The argument behind the command, such as the store's path.
  func positional(_ index: Int) -> String { arguments.positional[index + 1] }

  var storePath: String { positional(0) }

  /// The store for a report of what was done to it: with the size that it has then.
  var storeAfterwards: StoreSummary { StoreSummary(at: storePath) }

  /// The folder of `--migrations`.
  var migrationsFolder: URL { URL(fileURLWithPath: arguments.value("--migrations") ?? "Migrations") }

  /// The steps: of the folder, or those that the tool was built with.
  func migrations() throws -> MigrationSet {
    if arguments.value("--migrations") == nil, let set = try bundled.required() { return set }
    try requireFolder(migrationsFolder)
    return try steps(in: migrationsFolder).transforming(as: bundled.set).transforming(by: transforms)
  }

  func key() throws -> Key {
    // Asked for only when there is something to open.
    guard try DatabasePath.isTaken(storePath) else {
      if let link = danglingLink(storePath) {
        throw RefusedError(code: .notFound, description: "\(link)")
      }
      guard offersCreation, let creation else { throw SQLError.notFound(file: storePath) }
      throw RefusedError(
        code: .notFound,
        description:
          "\(storePath): there is no such file. Check the path, or make the store:\n      \(creation)")
    }
    return try KeySource(arguments: arguments, prefix: "key", standardError: standardError, warn: warn).read(
      for: storePath)
  }

  /// The error for a path that is a link to nothing; nil for another one.
  func danglingLink(_ path: String) -> SQLError? {
    guard let file = try? DatabasePath(path), file.isDanglingLink else { return nil }
    return .danglingLink(file: path, target: file.path)
  }

  /// Goes on where a file can be made.
  /// - Throws: `SQLError.alreadyExists`, `SQLError.danglingLink`.
  func requireFree(_ path: String) throws {
    guard !FileManager.default.fileExists(atPath: path) else { throw SQLError.alreadyExists(file: path) }
    if let link = danglingLink(path) { throw link }
  }

  /// Goes on where there is a file.
  /// - Throws: `SQLError.notFound`; ``RefusedError`` for a link to nothing.
  func requireThere(_ path: String) throws {
    guard try !DatabasePath.isTaken(path) else { return }
    if let link = danglingLink(path) { throw RefusedError(code: .notFound, description: "\(link)") }
    throw SQLError.notFound(file: path)
  }

  /// The key that a store is made with: where it is typed, twice.
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

  /// - Parameter waiting: How long to wait for a lock; nil for as long as was asked for.
  func inspection(key: Key, waiting seconds: Double? = nil) throws -> Inspection {
    let inspection = try Inspection(
      path: storePath, key: key, busyTimeout: try seconds ?? lockTimeout(), profile: try profile(),
      immutable: arguments.has("--immutable"))
    try StoreInfo.prepare(inspection.connection)
    return inspection
  }

  /// The settings that `--cipher` says the file has; nil where they are found by themselves.
  func profile() throws -> CipherProfile? { try settings("--cipher") }

  /// The settings that `--new-cipher` asks for.
  func newProfile() throws -> CipherProfile? { try settings("--new-cipher") }

  private func settings(_ option: String) throws -> CipherProfile? {
    guard let profile = try CipherSettings.given(option, in: arguments)?.profile else { return nil }
    guard profile.isUsable else {
      throw UsageError(
        "\(option): \(Engine.current) has no such settings: \(profile). Pages have 1024 bytes or twice as many, up to "
          + "65536; rounds are from 1 to 2147483647, and a header has 0, 32, 48, 64, 80 or 96 bytes. Other hashes than "
          + "SHA1, and a header, are SQLCipher 4's.")
    }
    return profile
  }

  /// Whether one of the options says where a new key comes from.
  var hasNewKey: Bool {
    ["new-key-file", "new-key-fd", "new-key-env", "new-key-command", "new-slots"].contains {
      arguments.value("--\($0)") != nil
    }
  }

  /// The present key, with the salt that `--new-cipher` may ask for.
  func kept(_ key: Key) throws -> Key {
    try CipherSettings.given("--new-cipher", in: arguments)?.salt.map { key.withSalt($0) } ?? key
  }

  /// What every connection of a command has.
  func configuration() throws -> Connection.Configuration {
    var configuration = Connection.Configuration()
    configuration.busyTimeout = try lockTimeout()
    configuration.profile = try profile()
    return configuration
  }

  /// That of a connection that only looks what became of a store behind an error. Whoever has it locked was waited for.
  func lookingConfiguration() throws -> Connection.Configuration {
    var configuration = try configuration()
    configuration.busyTimeout = min(configuration.busyTimeout, 0.5)
    return configuration
  }

  /// Goes on with the flag, or with a yes at the question.
  /// - Throws: ``RefusedError``, which names the flag.
  func confirm(_ what: String, allow flag: String) throws {
    if arguments.has(flag) { return }
    if !arguments.has("--no-input"), isatty(0) == 1 {
      standardError("\(what) Type yes to go on:")
      if readLine() == "yes" { return }
    }
    throw RefusedError(code: .refused, description: "\(what) Allow it with \(flag). Nothing was changed.")
  }

  func lockTimeout() throws -> Double { try arguments.seconds("--lock-timeout", default: 15) }
}

extension ProgressBar {
  /// A bar that is silent where the arguments of the run ask for it.
  convenience init(_ label: String, unit: String = "pages", _ session: Session) {
    self.init(
      label, unit: unit,
      isSilent: session.arguments.has("--json") || session.arguments.has("--quiet"),
      line: session.standardError)
  }
}
