// A program that a test runs and that is killed while it writes: its side, and what the two tell each other.

#if os(macOS) || os(Linux)
  internal import CipherSQLite
  internal import Foundation
  public import ObjectVault

  /// The side of a program that a test runs until it is killed.
  ///
  /// It is an executable target beside the tests, which says what is to be written:
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
    /// Opens the store that a test handed to this program, and writes, until the moment that the test chose.
    /// - Parameters:
    ///   - schema: The classes.
    ///   - migrations: The app's steps; by default one step that creates the schema.
    ///   - configuration: Cache, readers, time-outs.
    ///   - body: What writes.
    /// - Throws: What opening the store and `body` throw; `DecodingError` when no test has started it.
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

  /// What a test asks of such a program, on its standard input: no argument and no variable holds the key.
  struct KillOrder: Codable {
    let store: URL
    let key: [UInt8]
    let moment: SaveMoment?
    /// Where the program writes how much it did, if it comes to its end.
    let report: URL
  }
#endif
