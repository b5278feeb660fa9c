// The final ids of new objects inside a write. No other connection can assign ids before the write is
// committed. So when the id of a new object is read, its final id is assigned, and the save writes the
// row with this id.

/// The final ids that new objects were assigned before their rows are written.
struct AssignedIDs {
  /// The final ids, by temporary id.
  private var finals: [Int64: Int64] = [:]
  /// The temporary ids, by the index of the table's root entity and by final id.
  private var temporary: [Int: [Int64: Int64]] = [:]
  /// The number of objects in `PendingChanges.inserted` that were processed: these have their ids.
  var seen = 0

  var isEmpty: Bool { finals.isEmpty }
  /// The indexes of the root entities of the tables in which ids were assigned.
  var tables: Set<Int> { Set(temporary.keys) }

  /// Returns the final id of a new object; nil if it was assigned none.
  func final(_ temporary: Int64) -> Int64? { finals.isEmpty ? nil : finals[temporary] }

  /// Returns the temporary id of the new object with a final id; nil if no new object has it.
  func temporary(_ final: Int64, table: Int) -> Int64? { temporary[table]?[final] }

  mutating func give(_ final: Int64, to temporary: Int64, table: Int) {
    finals[temporary] = final
    self.temporary[table, default: [:]][final] = temporary
  }
}

extension PendingChanges {
  /// Assigns an id to each new object that has none, in the order of their creation: ids must rise in
  /// this order.
  /// - Parameter nextID: Returns the next free id of a table, by the index of its root entity.
  mutating func assignIDs(_ nextID: (_ table: Int) throws -> Int64) rethrows {
    for object in inserted[assignedIDs.seen...] {
      if object.state == .inserted, object.rowID < 0, assignedIDs.final(object.rowID) == nil,
        let table = object.map?.table
      {
        assignedIDs.give(try nextID(table), to: object.rowID, table: table)
      }
      assignedIDs.seen += 1
    }
  }
}
