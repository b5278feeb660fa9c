// Assigns ids to the rows that the data blocks of a run insert. The engine requests each id by a SQL
// function, whose call NumberedInsert adds to the statement.

internal import CipherSQLite

/// Issues ids above the high-water mark of each entity.
final class InsertedIDs: Sendable {
  /// The name of ``id(of:wanted:)`` in SQL.
  static let function = "vault_given_id"

  private struct State {
    var marks: [String: Int64] = [:]
    var exhausted: String?
    /// An id that a statement gives, although it is above the highest valid id.
    var beyond: (entity: String, id: Int64)?
  }
  private let state = Locked(State())

  /// Whether the high-water mark of an entity has been set.
  func knows(_ entity: String) -> Bool { state.withLock { $0.marks[entity] != nil } }

  /// Raises the high-water mark of an entity: ids up to the mark count as issued.
  func raise(_ entity: String, to mark: Int64) {
    state.withLock { $0.marks[entity] = max($0.marks[entity] ?? 0, mark) }
  }

  /// Returns the id of a row: the id that the statement gives, or else the next free one. A real without
  /// a fraction counts as the integer that the column stores. A value that is no id is returned
  /// unchanged, and the engine refuses it.
  func id(of entity: String, wanted: SQLValue) -> SQLValue {
    state.withLock { state in
      let mark = state.marks[entity] ?? 0
      guard wanted.isNull else {
        let id: Int64? =
          switch wanted {
          case .integer(let id): id
          case .real(let number): Int64(exactly: number)
          default: nil
          }
        guard let id else { return wanted }
        if id > RowIDs.highest { state.beyond = state.beyond ?? (entity, id) }
        state.marks[entity] = max(mark, id)
        return .integer(id)
      }
      guard let id = try? RowIDs.Run(after: mark, count: 1, of: entity).first else {
        state.exhausted = state.exhausted ?? entity
        return .integer(0)
      }
      state.marks[entity] = id
      return .integer(id)
    }
  }

  /// Runs a body, such as a savepoint, that rolls back its changes of the database before it throws. The
  /// ids that were issued for these changes are then free again.
  func undoing<Result>(_ body: () throws -> Result) throws -> Result {
    let former = state.withLock { $0 }
    do { return try body() } catch {
      state.withLock { $0 = former }
      throw error
    }
  }

  /// Records that a statement has changed ids of an entity, and the highest new id.
  func changed(_ entity: String, highest id: Int64) {
    state.withLock { state in
      if id > RowIDs.highest { state.beyond = state.beyond ?? (entity, id) }
    }
    raise(entity, to: id)
  }

  /// Throws the error that was recorded while ids were assigned.
  /// - Throws: ``StoreError/idsExhausted(entity:)`` if no id was left; ``ModelError`` if a statement
  ///   gives an id above the highest valid one.
  func check() throws {
    let (exhausted, beyond) = state.withLock { ($0.exhausted, $0.beyond) }
    if let (entity, id) = beyond {
      throw ModelError(
        reason: "a row of \(entity) gets the id \(id), but ids end at \(RowIDs.highest); give it a lower id")
    }
    guard let entity = exhausted else { return }
    throw StoreError.idsExhausted(entity: entity)
  }

  /// Writes the high-water marks to the store, and clears them here.
  func settle(_ connection: Connection) throws {
    let marks = state.withLock { state in
      defer { state = State() }
      return state.marks
    }
    for (entity, mark) in marks { try RowIDs(connection: connection).raise(entity, to: mark) }
  }
}
