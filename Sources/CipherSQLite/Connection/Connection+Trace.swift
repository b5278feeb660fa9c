// The trace of statements: each with its text, its duration and its number of rows.

private import CSQLCipher

extension Connection {
  /// Sets a closure that receives each statement when it ends, with its duration and its number of rows.
  ///
  /// The text contains no keys, whatever `showsValues` is: of ATTACH and of the pragmas that set a key,
  /// only the words before the key are shown.
  /// - Parameters:
  ///   - showsValues: Whether the text contains the bound values. Default `false`, so that a log does not
  ///     contain values of an encrypted file in clear.
  ///   - body: Called on the thread that uses the connection, while the statement ends. It must not use
  ///     the connection. nil removes the closure.
  public func onStatement(showsValues: Bool = false, _ body: ((TraceEvent) -> Void)?) {
    guard let handle = unsafe handle else { return }
    hooks.trace = body
    hooks.showsValues = showsValues
    hooks.running = [:]
    let events = body == nil ? 0 : SQLITE_TRACE_STMT | SQLITE_TRACE_ROW | SQLITE_TRACE_PROFILE
    unsafe sqlite3_trace_v2(
      handle, UInt32(events),
      body == nil
        ? nil
        : { event, context, statement, detail in
          // Unretained: the connection outlives its statements.
          guard let context = unsafe context, let statement = unsafe statement else { return 0 }
          let connection = unsafe Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue()
          let raw = OpaquePointer(statement)
          switch Int32(event) {
          case SQLITE_TRACE_STMT: unsafe connection.traceBegin(raw)
          case SQLITE_TRACE_ROW: connection.hooks.running[UInt(bitPattern: raw)]?.rows += 1
          default:
            guard let nanoseconds = unsafe detail?.assumingMemoryBound(to: Int64.self).pointee else {
              return 0
            }
            unsafe connection.traceEnd(raw, seconds: Double(nanoseconds) / 1e9)
          }
          return 0
        }, unsafe Unmanaged.passUnretained(self).toOpaque())
  }

  private func traceBegin(_ raw: OpaquePointer) {
    // The engine also reports the beginning of each trigger that the statement runs.
    let key = UInt(bitPattern: raw)
    guard hooks.running[key] == nil else { return }
    hooks.running[key] = RunningStatement(changes: totalChanges, received: intake?.received ?? 0)
  }

  private func traceEnd(_ raw: OpaquePointer, seconds: Double) {
    let run = hooks.running.removeValue(forKey: UInt(bitPattern: raw))
    let sql = unsafe sqlite3_sql(raw).map { unsafe String(cString: $0) } ?? ""
    var text = withoutKey(sql)
    if hooks.showsValues, text == nil, let expanded = unsafe sqlite3_expanded_sql(raw) {
      text = unsafe String(cString: expanded)
      unsafe sqlite3_free(expanded)
    }
    hooks.trace?(TraceEvent(sql: text ?? sql, seconds: seconds, rows: run.map { rows(of: sql, $0) } ?? 0))
  }

  /// Returns how many rows a statement returned or changed.
  private func rows(of sql: String, _ run: RunningStatement) -> Int {
    // This aggregate receives all rows in one step.
    if sql.contains(RowFunction.take.rawValue + "(") { return (intake?.received ?? 0) - run.received }
    return run.rows > 0 ? run.rows : totalChanges - run.changes
  }

  /// Returns the words before the key of a statement that sets or names a key; nil for other statements.
  private func withoutKey(_ sql: String) -> String? {
    let words = firstWords(of: sql, count: 5).drop { ["explain", "query", "plan"].contains($0) }
    switch words.first {
    case "attach": return "ATTACH"
    case "pragma":
      guard let name = words.dropFirst().first, name.contains("key"), !name.hasPrefix("foreign_key") else {
        return nil
      }
      return "PRAGMA \(name)"
    default: return nil
    }
  }

  /// Returns the first words of a statement in lower case, without the comments before and between them.
  private func firstWords(of sql: String, count: Int) -> [String] {
    var (words, rest) = ([String](), sql[...])
    while words.count < count {
      rest = rest.drop { $0.isWhitespace || ";=(".contains($0) }
      if rest.hasPrefix("--") {
        rest = rest.drop { !$0.isNewline }
      } else if rest.hasPrefix("/*") {
        rest = rest.firstRange(of: "*/").map { rest[$0.upperBound...] } ?? ""
      } else {
        let end = rest.firstIndex { $0.isWhitespace || ";=(/-".contains($0) } ?? rest.endIndex
        guard end > rest.startIndex else { break }
        words.append(String(rest[..<end]).asciiLowercased)
        rest = rest[end...]
      }
    }
    return words
  }
}
