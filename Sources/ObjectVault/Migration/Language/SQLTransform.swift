// The operation `transform sql`. Its rules are in SQLTransform+Rules.

/// `transform sql [reads E.a, F.b] [writes E.c] { … }`: SQL by the step's author that changes rows.
public struct SQLTransform: Sendable, Hashable {
  /// The statements, with names in the form `$E.a`.
  public let sql: String
  /// The reads and writes that the author declares. They are compared with the accesses that the engine
  /// reports.
  public let access: TransformAccess

  /// Creates a transform.
  /// - Parameters:
  ///   - sql: The statements, with names in the form `$E.a`.
  ///   - reads: The places that the statements read; nil to declare none.
  ///   - writes: The places that the statements write; nil to declare none.
  public init(_ sql: String, reads: [TransformAccess.Place]? = nil, writes: [TransformAccess.Place]? = nil) {
    self.init(sql, TransformAccess(reads: reads, writes: writes))
  }

  init(_ sql: String, _ access: TransformAccess) { (self.sql, self.access) = (sql, access) }
}
