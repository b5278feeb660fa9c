// The ids of rows that the data blocks of a run make. The engine asks for each row, by a function that
// NumberedInsert puts into the statement.

internal import CipherSQLite

/// Gives ids out above the mark of each entity.
final class InsertedIDs: Sendable {
  /// How SQL calls ``id(of:wanted:)``.
  static let function = "vault_given_id"

  private struct State {
    var marks: [String: Int64] = [:]
    var exhausted: String?
    /// What the statement gave, and no row may have.
    var beyond: (entity: String, id: Int64)?
  }
  private let state = Locked(State())

  /// Whether the mark of an entity is known.
  func knows(_ entity: String) -> Bool { state.withLock { $0.marks[entity] != nil } }

  /// Ids up to a mark are given out.
  func raise(_ entity: String, to mark: Int64) {
    state.withLock { $0.marks[entity] = max($0.marks[entity] ?? 0, mark) }
  }

  /// The id of a row: the one that the statement gives, or the next one. A whole number that came as a real
  /// counts as the column takes it; what is no id at all the engine refuses.
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

  /// Runs something that is undone where it fails, and then forgets what it gave out.
  func undoing<Result>(_ body: () throws -> Result) throws -> Result {
    let former = state.withLock { $0 }
    do { return try body() } catch {
      state.withLock { $0 = former }
      throw error
    }
  }

  /// Notes that a statement has changed ids of an entity, the highest of which is this one now.
  func changed(_ entity: String, highest id: Int64) {
    state.withLock { state in
      if id > RowIDs.highest { state.beyond = state.beyond ?? (entity, id) }
    }
    raise(entity, to: id)
  }

  /// - Throws: ``StoreError/idsExhausted(entity:)`` where there was none left; ``ModelError`` where the SQL itself gives one
  ///   that no row may have.
  func check() throws {
    let (exhausted, beyond) = state.withLock { ($0.exhausted, $0.beyond) }
    if let (entity, id) = beyond {
      throw ModelError(
        reason: "a row of \(entity) gets the id \(id), and ids end at \(RowIDs.highest): give it a lower one")
    }
    guard let entity = exhausted else { return }
    throw StoreError.idsExhausted(entity: entity)
  }

  /// Writes down what was given out, and forgets it.
  func settle(_ connection: Connection) throws {
    let marks = state.withLock { state in
      defer { state = State() }
      return state.marks
    }
    for (entity, mark) in marks { try RowIDs(connection: connection).raise(entity, to: mark) }
  }
}
