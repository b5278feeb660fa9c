// What happened to a store, in its order: steps that ran, and steps that were taken back.

package import CipherSQLite

/// One thing that happened to a store: a step ran, or was taken back.
public struct HistoryEvent: Sendable, Hashable, Codable {
  /// What happened.
  public enum Kind: String, Sendable, Hashable, Codable {
    /// A new store was made with the step.
    case created
    /// The store began at the step's version or a later one, with rows that another program had made; the step did not
    /// run.
    case baseline
    /// The step ran on the store.
    case up
    /// The step was taken back.
    case down
    /// The step was edited after it ran, and its record written anew: ``Store/repair(at:key:steps:migrations:profile:busyTimeout:)``.
    case repaired
  }

  /// What happened.
  public let kind: Kind
  /// The step's number.
  public let number: Int
  /// The step's name.
  public let name: String
  /// The checksum of what ran.
  public let checksum: String
  /// When, as ISO 8601 in UTC.
  public let date: String
  /// How long it took, in milliseconds.
  public let milliseconds: Int
  /// The program that did it.
  public let app: String
  /// The engine that did it.
  public let engine: String
}

extension HistoryEvent {
  /// Reads everything that happened to a store, from its making on.
  ///
  /// Only the last step is ever taken back, and what is taken back is written down in that order. So the order of
  /// everything follows, though clocks may have been set back: told from the end, a step that was taken back as number 4
  /// came after all that now lies on it.
  /// - Throws: ``StoreError/notAStore(file:)``, ``StoreError/bookkeepingDamaged(file:place:reason:)``.
  package static func all(_ connection: Connection) throws -> [HistoryEvent] {
    // Of one moment, as the history itself.
    try connection.transaction(.deferred) { try ofOneMoment(connection) }
  }

  private static func ofOneMoment(_ connection: Connection) throws -> [HistoryEvent] {
    var standing = try StoreHistory.read(connection).steps
    let table = UndoneTable(connection: connection)
    let undone: [(step: AppliedStep, undoing: Undoing)]
    do { undone = try table.exists() ? table.steps() : [] } catch SQLError.engine(1, _, let message, _) {
      throw StoreError.bookkeepingDamaged(
        file: connection.path, place: UndoneTable.name, reason: "cannot be read: \(message)")
    }
    var events: [HistoryEvent] = []
    for (step, undoing) in undone.reversed() {
      while let last = standing.last, last.number >= step.number {
        events.append(HistoryEvent(last))
        standing.removeLast()
      }
      events.append(HistoryEvent(step, undoing))
      standing.append(step)
    }
    events = (events + standing.reversed().map { HistoryEvent($0) }).reversed()
    let repairs = RepairedTable(connection: connection)
    guard try repairs.exists() else { return events }
    do { return inserting(try repairs.repairs(), into: events) } catch SQLError.engine(1, _, let message, _) {
      throw StoreError.bookkeepingDamaged(
        file: connection.path, place: RepairedTable.name, reason: "cannot be read: \(message)")
    }
  }

  /// Repairs among what happened, each at its moment: between two times that something was taken back, versions only rise.
  private static func inserting(_ repairs: [RepairedStep], into all: [HistoryEvent]) -> [HistoryEvent] {
    var (moments, undone) = ([[0, 0]], 0)
    for event in all {
      if event.kind == .down { undone += 1 }
      moments.append([undone, event.kind == .down ? event.number - 1 : event.number])
    }
    var events = all
    // From the last to the first, so that places that come before stay what they are.
    for repair in repairs.reversed() {
      let place = moments.firstIndex(of: [repair.undoneCount, repair.storeVersion]) ?? all.count
      events.insert(HistoryEvent(repair), at: place)
      // What ran was the step as it had been.
      let ran = events[..<place].lastIndex {
        $0.number == repair.former.number && ($0.kind == .up || $0.kind == .created || $0.kind == .baseline)
      }
      if let ran { events[ran] = HistoryEvent(repair.former) }
    }
    return events
  }

  private init(_ repair: RepairedStep) {
    kind = .repaired
    (number, name, checksum) = (repair.former.number, repair.name, repair.checksum)
    (date, milliseconds, app, engine) = (repair.at, 0, repair.app, repair.engine)
  }

  private init(_ step: AppliedStep) {
    kind = step.kind == "created" ? .created : step.kind == "baseline" ? .baseline : .up
    (number, name, checksum) = (step.number, step.name, step.checksum)
    (date, milliseconds, app, engine) = (step.appliedAt, step.milliseconds, step.app, step.engine)
  }

  private init(_ step: AppliedStep, _ undoing: Undoing) {
    kind = .down
    (number, name, checksum) = (step.number, step.name, step.checksum)
    (date, milliseconds, app, engine) = (undoing.at, undoing.milliseconds, undoing.app, undoing.engine)
  }
}
