// The ids of new objects inside a write, where nobody else can give ids out before it is committed: whoever asks for the id of
// one gets the final one, and the save writes the row with it.

/// The final ids that new objects were given before their rows are written.
struct GivenIDs {
  /// By the temporary id.
  private var finals: [Int64: Int64] = [:]
  /// By the index of the entity at the root of the table and the final id.
  private var temporary: [Int: [Int64: Int64]] = [:]
  /// How many of the pending new objects were looked at: those before have their ids.
  var seen = 0

  var isEmpty: Bool { finals.isEmpty }
  /// The indexes of the entities at the roots of the tables of which ids were given.
  var tables: Set<Int> { Set(temporary.keys) }

  /// The final id of a new object; nil when it was given none.
  func final(_ temporary: Int64) -> Int64? { finals.isEmpty ? nil : finals[temporary] }

  /// The temporary id of the new object that has a final one.
  func temporary(_ final: Int64, table: Int) -> Int64? { temporary[table]?[final] }

  mutating func give(_ final: Int64, to temporary: Int64, table: Int) {
    finals[temporary] = final
    self.temporary[table, default: [:]][final] = temporary
  }
}

extension PendingChanges {
  /// Gives an id to each new object that has none, in the order in which they were made: ids rise with that.
  /// - Parameter nextID: The next free id of a table, by the index of the entity at its root.
  mutating func giveIDs(_ nextID: (_ table: Int) throws -> Int64) rethrows {
    for object in inserted[given.seen...] {
      if object.state == .inserted, given.final(object.rowID) == nil, let table = object.map?.table {
        given.give(try nextID(table), to: object.rowID, table: table)
      }
      given.seen += 1
    }
  }
}
