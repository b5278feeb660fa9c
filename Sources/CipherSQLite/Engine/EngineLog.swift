// SQLite's own log: what it notices beside the errors that calls return.

private import CSQLCipher

/// A line of the engine's log.
public struct EngineMessage: Sendable, Hashable {
  /// SQLite's result code, such as 11 for a damaged page.
  public let code: Int
  /// The code in full, such as 283 for a log that was recovered.
  public let extendedCode: Int
  /// What happened. Quoted literals are hidden unless they were asked for.
  public let text: String
}

/// The log of the SQLite library of this process: failed statements, recovered logs, damaged pages, failing system
/// calls, indexes made on the fly.
///
/// SQLite takes a logger only before its first use. Ours is installed then, whoever listens later; another library
/// of the process that was there first keeps its own (``isAvailable``).
///
/// ```swift
/// EngineLog.onMessage { message in
///   logger.warning("SQLite \(message.extendedCode): \(message.text)")
/// }
/// ```
public enum EngineLog {
  private struct Listener {
    var showsValues = false
    var body: (@Sendable (EngineMessage) -> Void)?
  }

  private static let listener = Locked(Listener())

  static let isInstalled: Bool =
    unsafe vault_config_log { _, code, text in
      guard let text = unsafe text else { return }
      unsafe EngineLog.receive(Int(code), String(cString: text))
    } == SQLITE_OK

  /// Whether messages come: false when SQLite had been used in this process before this library was.
  public static var isAvailable: Bool { isInstalled }

  /// Calls `body` with each message of any connection of the process, on the thread where it arises.
  /// - Parameters:
  ///   - showsValues: Whether the text may hold the quoted literals of SQL text. Default `false`: a log would hold in clear
  ///     what the file keeps encrypted. Bound values are never in it.
  ///   - body: Must not use any connection; nil ends the calls.
  public static func onMessage(showsValues: Bool = false, _ body: (@Sendable (EngineMessage) -> Void)?) {
    // Before the library's first use, which may be the caller's next call.
    _ = isInstalled
    listener.withLock { $0 = Listener(showsValues: showsValues, body: body) }
  }

  private static func receive(_ code: Int, _ text: String) {
    let listener = listener.withLock { $0 }
    guard let body = listener.body else { return }
    body(
      EngineMessage(
        code: code & 0xff, extendedCode: code, text: listener.showsValues ? text : withoutLiterals(text)))
  }

  /// The text with `'…'` for every literal in quotes.
  static func withoutLiterals(_ text: String) -> String {
    var result = ""
    var characters = Array(text)[...]
    while let next = characters.popFirst() {
      result.append(next)
      guard next == "'" else { continue }
      // To the closing quote, over doubled ones; a literal without an end reaches to the end of the text.
      while let inner = characters.popFirst() {
        guard inner == "'" else { continue }
        if characters.first != "'" { break }
        characters.removeFirst()
      }
      result += "…'"
    }
    return result
  }
}
