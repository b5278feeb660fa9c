// The copies that a store remembers to have made of itself before steps, and how often it was opened well since: after so
// many times they go. A store without copies is not written to, and costs nothing.

internal import CipherSQLite
private import Foundation

/// A copy that a store made of itself.
package struct KeptCopy: Sendable, Hashable {
  /// What tells it from the store's other copies: `v6-20261120T201502Z`, or with `-2` behind it.
  let stamp: String
  /// How often the store was opened since, with no step to run.
  package var openings: Int

  /// What the file is called beside the store.
  func name(of file: DatabasePath) -> String { "\(file.name).\(stamp).backup" }
}

/// The row of `vault_meta` about the copies. It names them without the store's name, which may become another.
struct KeptCopies: Equatable {
  private(set) var copies: [KeptCopy]

  init() { copies = [] }

  /// Reads the row. What somebody else has written there names no copy, so none is taken for one of the store's.
  init(_ value: SQLValue?) {
    let text = if case .text(let text) = value { text } else { "" }
    copies = text.split(separator: "\n").compactMap { line in
      guard let match = line.wholeMatch(of: #/(v\d{1,9}-\d{8}T\d{6}Z(?:-\d{1,9})?) (\d{1,9})/#),
        let openings = Int(match.output.2)
      else { return nil }
      return KeptCopy(stamp: String(match.output.1), openings: openings)
    }
  }

  var isEmpty: Bool { copies.isEmpty }
  private var row: SQLValue { .text(copies.map { "\($0.stamp) \($0.openings)" }.joined(separator: "\n")) }

  /// Remembers a copy that was made now, and forgets those that go because of it.
  mutating func add(_ path: String, of file: DatabasePath) {
    let name = DatabasePath.split(path).name
    let stamp = name.dropFirst(file.name.count + 1).dropLast(".backup".count)
    copies = copies.suffix(MigrationBackup.kept - 1) + [KeptCopy(stamp: String(stamp), openings: 0)]
  }

  /// Writes the row, inside a transaction.
  func write(_ connection: Connection) throws {
    try MetaTable(connection: connection).write([(.copies, row)])
  }

  /// Those whose files lie beside a store, and are copies of it.
  func present(beside file: DatabasePath) -> [KeptCopy] {
    copies.filter { file.isOriginal(of: $0.name(of: file)) }
  }

  /// Counts an opening of a store that lacked no step, and removes the copies that have been kept for so many.
  ///
  /// A courtesy: where somebody else writes at the moment, or nobody can, the opening is not counted.
  /// - Parameter limit: How many openings a copy is kept for.
  static func countOpening(_ connection: Connection, of file: DatabasePath, limit: Int) {
    connection.onBusy { _ in false }
    defer { connection.onBusy(nil) }
    try? connection.transaction(.immediate) {
      var kept = KeptCopies(try MetaTable(connection: connection).value(.copies))
      guard !kept.isEmpty else { return }
      kept.copies = kept.copies.compactMap { copy in
        let name = copy.name(of: file)
        // A name is no proof: the file may have been replaced by one of the user's. Whatever it is, it is not ours any more.
        guard file.isOriginal(of: name) else { return nil }
        var copy = copy
        copy.openings += 1
        guard copy.openings >= limit else { return copy }
        // Before the commit: a process that ends between them leaves a row about no file, which is taken out next time.
        MigrationBackup.remove(file.sibling(name))
        return nil
      }
      try kept.write(connection)
    }
  }
}
