// Reads or writes many rows with one statement. Rows of a query are received by a function inside the engine
// (RowIntake). Rows in memory are read by the engine (RowFeed, RowChanges).

extension Connection {
  /// Runs `body`. Statements in it that call a ``RowFunction`` pass their rows to `taker`.
  /// - Throws: What `taker` throws, instead of the engine's error that results from it;
  ///   otherwise what `body` throws.
  package func deliverRows<Result>(to taker: any RowReceiver, _ body: () throws -> Result) throws -> Result {
    try deliverRows(by: RowDelivery(to: taker), body)
  }

  /// Runs `body` with a ``RowDelivery`` that the caller keeps for several calls with one taker.
  package func deliverRows<Result>(by handing: RowDelivery, _ body: () throws -> Result) throws -> Result {
    let intake = try rowIntake()
    (handing.count, handing.failure) = (0, nil)
    return try withExtendedLifetime(handing) {
      let outer = intake.hand(handing)
      // Restored inside of this closure, which keeps `handing` alive.
      defer { _ = intake.hand(outer) }
      do { return try body() } catch { throw handing.failure ?? error }
    }
  }

  /// Returns this connection's ``RowIntake``. The first call creates it and registers its functions.
  private func rowIntake() throws -> RowIntake {
    let handle = try unsafe opened()
    if let intake, intake.isRegistered { return intake }
    // Stored before the registration, after which the engine has its address.
    let made = intake ?? RowIntake()
    intake = made
    let code = unsafe made.register(on: handle)
    guard code == 0 else { throw error(code, sql: "") }
    made.isRegistered = true
    return made
  }

  /// Runs a statement that selects from the virtual table ``RowFeed/tableName(columnCount:)``.
  ///
  /// - Parameters:
  ///   - feed: The rows. It must have as many columns as the table's name states. If the statement fails,
  ///     ``RowFeed/position`` is the row at which it failed.
  ///   - start: The index of the first row to read.
  ///   - sql: The statement. It is reset when this returns.
  package func run(_ feed: RowFeed, from start: Int, sql: String) throws {
    try lend(feed, from: start) {
      try withStatement(sql: sql) { statement in
        while try statement.step() {}
      }
    }
  }

  /// Runs `body`. Statements in it can select from the virtual table of a feed.
  package func lend<Result>(_ feed: RowFeed, from start: Int = 0, _ body: () throws -> Result) throws
    -> Result
  {
    let feeder = try feeder(columnCount: feed.columns.count + 1)
    return try unsafe withState(of: feed, start) { state in
      let outer = unsafe feeder.lend(state)
      defer { feed.position = unsafe feeder.takeBack(outer) }
      return try body()
    }
  }

  /// Executes a statement once for each run of ids: of ids that are close together, as
  /// ``RowChanges/isRun(from:to:)`` decides. The statement sets columns to ``RowChanges/value(_:id:)``
  /// where the row's version is ``RowChanges/version(id:)``.
  ///
  /// - Parameters:
  ///   - changes: The rows. If the statement fails, ``RowChanges/position`` is the row at which it failed.
  ///   - start: The index of the first row to write.
  ///   - sql: The statement. It has two parameters: the first id of a run, and the last.
  /// - Returns: nil if all rows were written. Otherwise the index of the first row that was not written,
  ///   because it was deleted or has another version. The runs after its run were not written either.
  package func run(_ changes: RowChanges, from start: Int, sql: String) throws -> Int? {
    var run = start..<start
    var isWhole = true
    do {
      try lend(changes, from: start) {
        try withStatement(sql: sql) { statement in
          while isWhole, run.upperBound < changes.count {
            run = run.upperBound..<changes.endOfRun(run.upperBound)
            try statement.bind(changes.feed.rows[run.lowerBound].id, at: 1)
            try statement.bind(changes.feed.rows[run.upperBound - 1].id, at: 2)
            while try statement.step() {}
            statement.reset()
            isWhole = self.changes == run.count
          }
        }
      }
    } catch let error as SQLError {
      // If the statement skipped a row before the one that failed, the index of the skipped row is
      // returned.
      guard case .constraint = error, run.contains(changes.position),
        let missed = changes.firstUnwritten(run.lowerBound..<changes.position)
      else { throw error }
      return missed
    }
    guard isWhole else { return changes.firstUnwritten(run) ?? run.lowerBound }
    changes.feed.position = changes.count
    return nil
  }

  private func lend(_ changes: RowChanges, from start: Int, _ body: () throws -> Void) throws {
    let changer = try rowChanger()
    try unsafe changes.versions.withUnsafeBufferPointer { versions in
      try unsafe changes.written.withUnsafeMutableBufferPointer { written in
        try unsafe withState(of: changes.feed, start) { state in
          let outer = unsafe changer.lend(ChangeState(state, versions: versions, written: written))
          defer { changes.feed.position = unsafe changer.takeBack(outer) }
          try body()
        }
      }
    }
  }

  private func withState<Result>(of feed: RowFeed, _ start: Int, _ body: (FeedState) throws -> Result)
    rethrows
    -> Result
  {
    feed.position = start
    return try unsafe feed.rows.withUnsafeBufferPointer { rows in
      try unsafe feed.columns.withUnsafeBufferPointer { columns in
        try unsafe feed.replacements.withUnsafeBufferPointer { replacements in
          try unsafe body(
            FeedState(
              rows: rows, columns: columns, replacements: replacements,
              replacementCount: feed.replacementCount, start: start, position: start))
        }
      }
    }
  }

  /// Returns this connection's ``RowChanger``. The first call creates it and registers its functions.
  private func rowChanger() throws -> RowChanger {
    let handle = try unsafe opened()
    // Stored before the registration, after which the engine has its address.
    let made = changer ?? RowChanger()
    changer = made
    guard !made.isRegistered else { return made }
    let code = unsafe made.register(on: handle)
    guard code == 0 else { throw error(code, sql: "") }
    made.isRegistered = true
    return made
  }

  private func feeder(columnCount: Int) throws -> RowFeeder {
    let handle = try unsafe opened()
    let feeder = feeder ?? RowFeeder()
    self.feeder = feeder
    let code = unsafe feeder.register(on: handle, columnCount: columnCount)
    guard code == 0 else { throw error(code, sql: "") }
    return feeder
  }
}
