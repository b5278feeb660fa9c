// The record of a migration step in the history of a store.

internal import CipherSQLite
internal import Foundation

/// A step that ran on a store with a history, or was rolled back.
struct StepRecord {
  let name: String
  /// The version of the model after it.
  let version: Int
  let isRollback: Bool
  /// The names of the entities whose objects it may have changed, or whose history it begins or ends.
  let changed: [String]

  /// Appends the record. Does nothing in a store without a history.
  /// - Throws: ``StoreError/bookkeepingDamaged(file:place:reason:)`` if an entity has no number.
  func append(on connection: Connection) throws {
    let table = TransactionTable(connection: connection)
    guard try table.exists(), let numbers = try RecordedNames(connection)?.numbers else { return }
    var writer = ByteWriter()
    for entity in changed {
      guard let number = numbers[entity]?.entity else {
        throw StoreError.bookkeepingDamaged(
          file: connection.path, place: RecordedNamesTable.name, reason: "has no number for \(entity)")
      }
      writer.put(byte: RecordKind.gap.rawValue)
      writer.put(unsigned: number)
    }
    try table.append(
      .init(
        id: try TransactionRecorder.nextID(connection), parts: 0,
        time: Date().timeIntervalSinceReferenceDate, author: nil, name: name, version: Int64(version),
        kind: isRollback ? 2 : 1), body: .blob(Data(writer.bytes)))
  }
}
