// Many rows in one statement: handed over inside of it (RowIntake), or taken out of memory by it (RowFeed, RowChanges).

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
    return try unsafe withState(of: feed, start) { state in
      let outer = unsafe feeder.lend(state)
      defer { feed.position = unsafe feeder.takeBack(outer) }
      return try body()
    }
  }

  /// Runs a statement that asks for ``RowChanges/value(_:id:)`` where ``RowChanges/version(id:)`` is the row's version, once for
  /// each run of ids.
  ///
  /// - Parameters:
  ///   - changes: When the statement fails, ``RowChanges/position`` tells where.
  ///   - start: The row with which it begins.
  ///   - sql: Has two parameters: the first id of a run, and the last.
  /// - Returns: The first row that was not written, as it is gone or has another version, and behind whose run nothing was; nil
  ///   when all were.
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
      // What was passed over ahead of the row that failed counts first.
      guard case .constraint = error, run.contains(changes.position),
        let missed = changes.firstMissed(run.lowerBound..<changes.position)
      else { throw error }
      return missed
    }
    guard isWhole else { return changes.firstMissed(run) ?? run.lowerBound }
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

  /// Made, and its functions registered, when it is first asked for.
  private func rowChanger() throws -> RowChanger {
    let handle = try unsafe opened()
    // Kept first: the engine has its address as soon as one of the functions is registered.
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
