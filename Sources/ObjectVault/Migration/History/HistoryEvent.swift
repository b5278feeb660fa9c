// The events of a store in the order in which they happened: runs, rollbacks and repairs of steps.

package import CipherSQLite

/// An event in a store's history: a step ran, was rolled back, or had its record replaced.
public struct HistoryEvent: Sendable, Hashable, Codable {
  /// The kind of an event.
  public enum Kind: String, Sendable, Hashable, Codable {
    /// The store was created at the step's version or a later one. The step itself ran only if one of the
    /// steps writes rows.
    case created
    /// The store was set to the step's version or a later one, with rows that another program had made;
    /// the step did not run.
    case baseline
    /// The step ran on the store.
    case up
    /// The step was rolled back.
    case down
    /// The step was edited after it ran, and its record was replaced:
    /// ``Store/repair(at:key:steps:migrations:profile:busyTimeout:)``.
    case repaired
  }

  /// What happened.
  public let kind: Kind
  /// The step's number.
  public let number: Int
  /// The step's name.
  public let name: String
  /// The checksum of the text that ran; for a repair, that of the new record.
  public let checksum: String
  /// The time, as ISO 8601 in UTC.
  public let date: String
  /// The duration, in milliseconds; 0 for a repair.
  public let milliseconds: Int
  /// The program that caused the event.
  public let app: String
  /// The engine of this program.
  public let engine: String
}

extension HistoryEvent {
  /// Returns all events of a store, from its creation on.
  ///
  /// Only the last step can be rolled back, and rollbacks are recorded in their order. The order of all
  /// events follows from that, even if clocks were set back: the present steps from step 4 on ran after
  /// the last rollback of step 4.
  /// - Throws: ``StoreError/notAStore(file:)``, ``StoreError/bookkeepingDamaged(file:place:reason:)``.
  package static func all(_ connection: Connection) throws -> [HistoryEvent] {
    // One transaction, so that all tables are read in one state of the store.
    try connection.transaction(.deferred) { try ofOneMoment(connection) }
  }

  private static func ofOneMoment(_ connection: Connection) throws -> [HistoryEvent] {
    var storeState = try StoreHistory.read(connection).steps
    let table = UndoneTable(connection: connection)
    let undone: [(step: AppliedStep, undoing: RollbackRecord)]
    do { undone = try table.exists() ? table.steps() : [] } catch SQLError.engine(1, _, let message, _) {
      throw StoreError.bookkeepingDamaged(
        file: connection.path, place: UndoneTable.name, reason: "cannot be read: \(message)")
    }
    var events: [HistoryEvent] = []
    for (step, undoing) in undone.reversed() {
      while let last = storeState.last, last.number >= step.number {
        events.append(HistoryEvent(last))
        storeState.removeLast()
      }
      events.append(HistoryEvent(step, undoing))
      storeState.append(step)
    }
    events = (events + storeState.reversed().map { HistoryEvent($0) }).reversed()
    let repairs = RepairedTable(connection: connection)
    guard try repairs.exists() else { return events }
    do { return inserting(try repairs.repairs(), into: events) } catch SQLError.engine(1, _, let message, _) {
      throw StoreError.bookkeepingDamaged(
        file: connection.path, place: RepairedTable.name, reason: "cannot be read: \(message)")
    }
  }

  /// Inserts each repair after the event at which the store had the repair's version and number of
  /// rollbacks. That event is unique, because versions only rise between two rollbacks.
  private static func inserting(_ repairs: [RepairedStep], into all: [HistoryEvent]) -> [HistoryEvent] {
    var (moments, undone) = ([[0, 0]], 0)
    for event in all {
      if event.kind == .down { undone += 1 }
      moments.append([undone, event.kind == .down ? event.number - 1 : event.number])
    }
    var events = all
    // Inserted from the last to the first, so that earlier positions stay valid.
    for repair in repairs.reversed() {
      let place = moments.firstIndex(of: [repair.undoneCount, repair.storeVersion]) ?? all.count
      events.insert(HistoryEvent(repair), at: place)
      // The event at which the step ran gets the record from before the repair.
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

  private init(_ step: AppliedStep, _ undoing: RollbackRecord) {
    kind = .down
    (number, name, checksum) = (step.number, step.name, step.checksum)
    (date, milliseconds, app, engine) = (undoing.at, undoing.milliseconds, undoing.app, undoing.engine)
  }
}
