// Prepared statements by SQL text. A prepare costs 20 µs and more; a look-up well below one.

/// What the statement cache of a connection has done so far.
public struct StatementCacheStatistics: Sendable, Hashable {
  /// How many statements it holds now.
  public internal(set) var count = 0
  /// How many it holds at most.
  public internal(set) var capacity: Int
  /// How often a statement was found.
  public internal(set) var hits = 0
  /// How often one had to be prepared.
  public internal(set) var misses = 0
  /// How many were given up for others.
  public internal(set) var evictions = 0
}

// Safe: what is not counted is one of the entries, or of those given up, which keep it.
@safe struct StatementCache {
  private var entries: [String: Statement] = [:]
  private(set) var statistics: StatementCacheStatistics
  private var clock = 0
  /// The one that was found last: loops run one statement, and comparing is faster than hashing. One of the entries, and nil
  /// before any of them goes.
  private var latest: Unmanaged<Statement>?
  /// Statements that were given up while somebody ran them: whoever they are lent to counts on the cache to keep them.
  private var givenUp: [Statement] = []

  init(capacity: Int) { statistics = StatementCacheStatistics(capacity: max(0, capacity)) }

  /// A statement that nobody is stepping, taken for use; nil when there is none. It is kept while it is in use, so that a look-up
  /// need count no reference: of a cached statement that is a quarter of its time.
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

  /// Notes that a statement which was found before is taken for use once more.
  mutating func retake(_ statement: Statement) {
    statistics.hits += 1
    clock += 1
    unsafe statement.lastUse = clock
    unsafe statement.isInUse = true
  }

  /// Keeps a statement that is in use, unless the same text is kept already.
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

  /// Gives up the quarter that was not used for longest: a scan now and then, and none for each insertion.
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
