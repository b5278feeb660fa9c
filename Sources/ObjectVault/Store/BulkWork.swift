// The transaction of a bulk call: its body, and the two tasks that work on the rows of an asynchronous
// sequence.

// Safe to share: it is made by the caller of a write, from rows that it was sent and from closures that may
// be called on any thread, and run once, on the thread of the writes, while the caller waits.
/// The body of a bulk write.
struct BulkWork<Result: Sendable>: @unchecked Sendable {
  let run: (ObjectContext) throws -> Result

  init(_ run: @escaping (ObjectContext) throws -> Result) { self.run = run }

  /// Returns the body of an upsert.
  /// - Parameter target: Returns the entity of the upsert in the context of the write.
  static func upsert<Object, ID, Row>(
    _ blocks: RowBlocks<Row>, by form: KeyForm<Row>, withIDs: Bool,
    of target: @escaping (ObjectContext) throws -> BulkTarget<Object, ID>,
    _ update: @escaping (Object, Row) throws -> Void
  ) -> BulkWork where Result == UpsertReport<ID> {
    BulkWork { context in
      var upsert = try Upsert<Object, ID, Row>(target(context), on: form.names, withIDs: withIDs)
      return try upsert.run(saving: blocks, by: form.parts, update)
    }
  }
}

extension Store {
  func write<Result: Sendable>(once work: BulkWork<Result>) async throws -> Result {
    try await write { try work.run($0) }
  }

  /// Writes the rows of an asynchronous sequence in one transaction, which begins when the first rows are
  /// there.
  /// - Parameter body: Returns the body of the write for the blocks of rows.
  func write<Rows: AsyncSequence, Result: Sendable>(
    _ rows: sending Rows, _ body: (RowBlocks<Rows.Element>) -> BulkWork<Result>
  ) async throws -> Result where Rows.Element: Sendable {
    let handover = RowHandover<Rows.Element>()
    let work = body(RowBlocks(handover))
    // Safe to send: the task that reads the sequence is the only one that has it.
    nonisolated(unsafe) let feed = { await handover.feed(rows) }
    return try await withTaskCancellationHandler {
      try await withThrowingTaskGroup(of: Result?.self) { group in
        group.addTask {
          unsafe await feed()
          return nil
        }
        group.addTask {
          defer { handover.close() }
          await handover.waitForFirst()
          return try await self.write(once: work)
        }
        var result: Result?
        // An error of the write ends the task that reads the sequence, too.
        while let ended = try await group.next() { result = ended ?? result }
        guard let result else { throw CancellationError() }
        return result
      }
    } onCancel: {
      handover.fail(CancellationError())
    }
  }
}
