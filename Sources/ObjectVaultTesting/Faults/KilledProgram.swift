// A program that a test runs, and that is killed while it writes: the program's part, and the data that
// the test and the program exchange.

#if os(macOS) || os(Linux)
  internal import CipherSQLite
  internal import Foundation
  public import ObjectVault

  /// The part of a program that a test runs until it is killed.
  ///
  /// The program is an executable target next to the tests. It defines what is written:
  ///
  /// ```swift
  /// try await KilledProgram.run(microblog) { store in
  ///   try await store.write { context in
  ///     _ = context.insert(User.self) { $0.name = "Binger" }
  ///   }
  /// }
  /// ```
  /// ``TestStore/killed(at:running:arguments:within:)`` and
  /// ``TestStore/checkKilledAnywhere(running:arguments:moments:within:)`` start it.
  public enum KilledProgram {
    /// Opens the store that a test passes to this program, and writes to it until the moment that the
    /// test chose.
    /// - Parameters:
    ///   - schema: The classes.
    ///   - migrations: The app's steps; by default one step that creates the schema.
    ///   - configuration: The settings of the store: cache, readers, time-outs.
    ///   - body: Writes to the store.
    /// - Throws: The errors of opening the store and of `body`; `DecodingError` when no test has started
    ///   the program.
    public static func run(
      _ schema: Schema, migrations: Store.Migrations = .creatingSchema,
      configuration: Store.Configuration = Store.Configuration(), _ body: (Store) async throws -> Void
    ) async throws {
      let input = try FileHandle.standardInput.readToEnd() ?? Data()
      let order = try JSONDecoder().decode(KillOrder.self, from: input)
      let store = try await Store.open(
        at: order.store, key: .raw(order.key), schema: schema, migrations: migrations,
        configuration: configuration)
      defer { store.close() }
      let counts = Locked(SaveCounts())
      try store.withWritingConnection { connection in
        if let moment = order.moment {
          try SaveFault.kill(at: moment).arm(connection)
        } else {
          try connection.count(in: counts)
        }
      }
      try await body(store)
      try store.withWritingConnection { try SaveFault.disarm($0) }
      try JSONEncoder().encode(counts.withLock { $0 }).write(to: order.report)
    }
  }

  /// What a test passes to the program on its standard input, so that no argument and no variable contains
  /// the key.
  struct KillOrder: Codable {
    let store: URL
    let key: [UInt8]
    let moment: SaveMoment?
    /// The file into which the program writes its counts, if it completes.
    let report: URL
  }
#endif
