// The trace of a store's statements.

public import CipherSQLite

/// Receives each statement that a store runs: its text, its duration, and its number of rows.
///
/// ```swift
/// var configuration = Store.Configuration()
/// configuration.trace = StatementTrace(slowerThan: 0.1) { statement in
///   let line = "\(statement.seconds) s: \(statement.sql)\n"
///   FileHandle.standardError.write(Data(line.utf8))
/// }
/// ```
///
/// The text has a question mark for each value. A trace with values writes what the file encrypts, so it is
/// for debugging alone. Keys are never part of it.
///
/// Several connections of a store run statements at once, each on the thread that uses it, so the closure is
/// called on any thread, also on several at once. The statement's caller waits for it: it should return
/// quickly, and it must not use the store. Statements of the opening are included from the check of the
/// steps on. Two traces are equal if one is a copy of the other.
public struct StatementTrace: Sendable, Hashable {
  private final class Receiver: Sendable {
    let body: @Sendable (TraceEvent) -> Void
    init(_ body: @escaping @Sendable (TraceEvent) -> Void) { self.body = body }
  }

  private let receiver: Receiver
  /// Whether the texts contain the bound values.
  public let showsValues: Bool
  /// The duration from which statements are reported, in seconds.
  public let minimumSeconds: Double

  /// Creates a trace.
  /// - Parameters:
  ///   - showsValues: Whether the texts contain the bound values, which are secret in most stores.
  ///   - seconds: The duration from which statements are reported; 0 for all of them.
  ///   - body: Receives each statement when it ends.
  public init(
    showsValues: Bool = false, slowerThan seconds: Double = 0,
    _ body: @escaping @Sendable (TraceEvent) -> Void
  ) {
    receiver = Receiver(body)
    self.showsValues = showsValues
    minimumSeconds = seconds
  }

  /// Reports the statements of a connection from now on.
  func observe(_ connection: Connection) {
    connection.onStatement(showsValues: showsValues) { [receiver, minimumSeconds] event in
      if event.seconds >= minimumSeconds { receiver.body(event) }
    }
  }

  /// Returns whether both report to the same closure in the same way.
  public static func == (one: StatementTrace, other: StatementTrace) -> Bool {
    one.receiver === other.receiver && one.showsValues == other.showsValues
      && one.minimumSeconds == other.minimumSeconds
  }

  /// Hashes the closure's identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(receiver)) }
}
