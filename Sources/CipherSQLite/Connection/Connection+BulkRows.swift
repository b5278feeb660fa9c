// Many rows in one statement: handed over inside of it (RowIntake), or taken out of memory by it (RowFeed).

extension Connection {
  /// Runs `body`, whose statements hand their rows to `taker` where they call a ``RowFunction``.
  /// - Throws: What `taker` throws, rather than what the engine makes of it; what `body` throws.
  package func handRows<Result>(to taker: any RowTaker, _ body: () throws -> Result) throws -> Result {
    try handRows(by: RowHanding(to: taker), body)
  }

  /// The same for who hands rows to one taker again and again, and keeps what that takes.
  package func handRows<Result>(by handing: RowHanding, _ body: () throws -> Result) throws -> Result {
    let intake = try rowIntake()
    (handing.count, handing.failure) = (0, nil)
    return try withExtendedLifetime(handing) {
      let outer = intake.hand(handing)
      // Within: what is taken back has to be there still.
      defer { _ = intake.hand(outer) }
      do { return try body() } catch { throw handing.failure ?? error }
    }
  }

  /// Made, and its functions registered, when it is first asked for.
  private func rowIntake() throws -> RowIntake {
    let handle = try unsafe opened()
    if let intake, intake.isRegistered { return intake }
    // Kept first: the engine has its address as soon as one of the functions is registered.
    let made = intake ?? RowIntake()
    intake = made
    let code = unsafe made.register(on: handle)
    guard code == 0 else { throw error(code, sql: "") }
    made.isRegistered = true
    return made
  }

  /// Runs a statement that selects from ``RowFeed/tableName(columnCount:)``.
  ///
  /// - Parameters:
  ///   - feed: Its columns are as many as the name says. When the statement fails, ``RowFeed/position`` tells where.
  ///   - start: The row with which it begins.
  ///   - sql: Not kept open when this returns.
  package func run(_ feed: RowFeed, from start: Int, sql: String) throws {
    try lend(feed, from: start) {
      try withStatement(sql: sql) { statement in
        while try statement.step() {}
      }
    }
  }

  /// Lets the statements that `body` runs select from a feed.
  package func lend<Result>(_ feed: RowFeed, from start: Int = 0, _ body: () throws -> Result) throws
    -> Result
  {
    let feeder = try feeder(columnCount: feed.columns.count + 1)
    feed.position = start
    return try unsafe feed.rows.withUnsafeBufferPointer { rows in
      try unsafe feed.columns.withUnsafeBufferPointer { columns in
        try unsafe feed.replacements.withUnsafeBufferPointer { replacements in
          let outer = unsafe feeder.lend(
            FeedState(
              rows: rows, columns: columns, replacements: replacements,
              replacementCount: feed.replacementCount, start: start, position: start))
          defer { feed.position = unsafe feeder.takeBack(outer) }
          return try body()
        }
      }
    }
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
