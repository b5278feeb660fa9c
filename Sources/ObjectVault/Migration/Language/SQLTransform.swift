// `transform sql` and what a step says in it. As an operation it is in SQLTransform+Rules.

/// `transform sql [reads E.a, F.b] [writes E.c] { … }`: SQL of the step's author, on rows.
public struct SQLTransform: Sendable, Hashable {
  /// The statements, with `$E.a` for names.
  public let sql: String
  /// What they read and write, as far as their author says. What is said is held against what the engine is asked for.
  public let access: TransformAccess

  /// A transform.
  public init(_ sql: String, reads: [TransformAccess.Place]? = nil, writes: [TransformAccess.Place]? = nil) {
    self.init(sql, TransformAccess(reads: reads, writes: writes))
  }

  init(_ sql: String, _ access: TransformAccess) { (self.sql, self.access) = (sql, access) }
}
