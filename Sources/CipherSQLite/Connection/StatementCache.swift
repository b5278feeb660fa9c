// Prepared statements by SQL text. Preparing one takes 20 µs or more; a look-up is far cheaper.

/// The counters of a connection's statement cache.
public struct StatementCacheStatistics: Sendable, Hashable {
  /// The number of statements in the cache.
  public internal(set) var count = 0
  /// The maximum number of statements in the cache.
  public internal(set) var capacity: Int
  /// How often a statement was found.
  public internal(set) var hits = 0
  /// How often a statement had to be prepared.
  public internal(set) var misses = 0
  /// How many statements were removed to make room for others.
  public internal(set) var evictions = 0
}

// Safe: the cache retains every statement that it lends as `Unmanaged`, in `entries` or in `givenUp`.
@safe struct StatementCache {
  private var entries: [String: Statement] = [:]
  private(set) var statistics: StatementCacheStatistics
  private var clock = 0
  /// The statement that was found last: loops run one statement, and comparing its text is faster than
  /// hashing. It is in `entries`, and is set to nil before any entry is removed.
  private var latest: Unmanaged<Statement>?
  /// Statements that were removed while in use. Their users do not retain them, so the cache does.
  private var givenUp: [Statement] = []

  init(capacity: Int) { statistics = StatementCacheStatistics(capacity: max(0, capacity)) }

  /// Returns an idle statement with this text and marks it as in use; nil if there is none. It is
  /// unmanaged, because without reference counting a look-up takes a quarter less time: the cache retains
  /// it while it is in use.
  mutating func take(_ sql: String) -> Unmanaged<Statement>? {
    guard let latest = unsafe latest,
      unsafe latest._withUnsafeGuaranteedRef({ unsafe !$0.isInUse && $0.sql == sql })
    else { return unsafe find(sql) }
    unsafe latest._withUnsafeGuaranteedRef { retake($0) }
    return unsafe latest
  }

  @inline(never) private mutating func find(_ sql: String) -> Unmanaged<Statement>? {
    guard let statement = entries[sql], unsafe !statement.isInUse else {
      statistics.misses += 1
      if !givenUp.isEmpty { givenUp.removeAll { unsafe !$0.isInUse } }
      return nil
    }
    unsafe latest = Unmanaged.passUnretained(statement)
    retake(statement)
    return unsafe latest
  }

  /// Marks a statement from an earlier look-up as in use.
  mutating func retake(_ statement: Statement) {
    statistics.hits += 1
    clock += 1
    unsafe statement.lastUse = clock
    unsafe statement.isInUse = true
  }

  /// Marks a statement as in use. Adds it, unless the cache has one with the same text, or all the
  /// statements of a full cache are in use.
  mutating func insert(_ statement: Statement) {
    unsafe statement.isInUse = true
    guard statistics.capacity > 0, entries[statement.sql] == nil else { return }
    if entries.count >= statistics.capacity { evict() }
    guard entries.count < statistics.capacity else { return }
    clock += 1
    unsafe statement.lastUse = clock
    entries[statement.sql] = statement
    statistics.count = entries.count
  }

  /// Removes the least recently used quarter. Removing many at once means that the entries are sorted
  /// rarely, and not at each insertion.
  private mutating func evict() {
    unsafe latest = nil
    let idle = entries.values.filter { unsafe !$0.isInUse }.sorted { unsafe $0.lastUse < $1.lastUse }
    for statement in idle.prefix(max(1, statistics.capacity / 4)) {
      entries[statement.sql] = nil
      statement.finalize()
      statistics.evictions += 1
    }
    statistics.count = entries.count
  }

  mutating func removeIdle() {
    unsafe latest = nil
    for statement in entries.values where unsafe !statement.isInUse {
      entries[statement.sql] = nil
      statement.finalize()
    }
    statistics.count = entries.count
  }

  mutating func removeAll() {
    unsafe latest = nil
    for statement in entries.values {
      statement.finalize()
      if unsafe statement.isInUse { givenUp.append(statement) }
    }
    entries.removeAll()
    statistics.count = 0
  }
}
