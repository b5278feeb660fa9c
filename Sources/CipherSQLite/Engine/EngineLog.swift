// SQLite's error log: what it reports in addition to the errors that calls return.

private import CSQLCipher

/// A message of the engine's log.
public struct EngineMessage: Sendable, Hashable {
  /// SQLite's result code, such as 11 for a damaged page.
  public let code: Int
  /// The extended result code, such as 283 for a log that was recovered.
  public let extendedCode: Int
  /// The message. Quoted literals are replaced by `'…'` unless the listener requested them.
  public let text: String
}

/// The log of this process's SQLite library: failed statements, recovered logs, damaged pages, failing
/// system calls, automatic indexes.
///
/// SQLite accepts a logger only before it is first used. This library installs its logger before it uses
/// SQLite for the first time, even if no listener is set yet. If other code of the process used SQLite
/// earlier, there are no messages (``isAvailable`` is false).
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

  /// Whether messages are delivered: false if SQLite was used in this process before this
  /// library installed its logger.
  public static var isAvailable: Bool { isInstalled }

  /// Calls `body` with each log message of any connection of the process, on the thread where it occurs.
  /// - Parameters:
  ///   - showsValues: Whether the text may contain the quoted literals of the SQL. Default `false`, so that
  ///     a log does not contain values of an encrypted file in clear. Bound values are never included.
  ///   - body: The listener, which replaces the former one. It must not use any
  ///     connection. nil removes the listener.
  public static func onMessage(showsValues: Bool = false, _ body: (@Sendable (EngineMessage) -> Void)?) {
    // The logger must be installed before SQLite is first used, which may be in the caller's next call.
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

  /// Returns the text with `'…'` in the place of each quoted literal.
  static func withoutLiterals(_ text: String) -> String {
    var result = ""
    var characters = Array(text)[...]
    while let next = characters.popFirst() {
      result.append(next)
      guard next == "'" else { continue }
      // Skips to the closing quote, past doubled quotes. A literal without a closing quote
      // extends to the end of the text.
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
