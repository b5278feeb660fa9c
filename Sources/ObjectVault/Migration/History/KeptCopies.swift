// The copies that a store remembers to have made of itself before steps, and how often it was opened well since: after so
// many times they go. A store without copies is not written to, and costs nothing.
// One of them may be the copy before a run that commits each step and did not come to its end. That one has what there was
// before all of its steps, so it stays beside the newest; those between them, of attempts that were stopped too, go.

internal import CipherSQLite
private import Foundation

/// A copy that a store made of itself.
package struct KeptCopy: Sendable, Hashable {
  /// What tells it from the store's other copies: `v6-20261120T201502Z`, or with `-2` behind it.
  let stamp: String
  /// How often the store was opened since, with no step to run.
  package var openings: Int
  /// Whether it was made before the first step of a run that has not come to its end.
  package var isBeforeRun = false

  /// What the file is called beside the store.
  func name(of file: DatabasePath) -> String { "\(file.name).\(stamp).backup" }

  /// Whether there is no such file any more, or another in its place. One that cannot be read at the moment is there.
  func isLost(beside file: DatabasePath) -> Bool {
    [.absent, .other].contains(file.copyState(of: name(of: file)))
  }
}

/// The row of `vault_meta` about the copies. It names them without the store's name, which may become another.
struct KeptCopies: Equatable {
  private(set) var copies: [KeptCopy] = []
  /// Those that newer ones took the place of, as long as their files may be there.
  private var leaving: [KeptCopy] = []

  init() {}

  /// Reads the row. What somebody else has written there names no copy, so none is taken for one of the store's.
  init(_ value: SQLValue?) {
    let text = if case .text(let text) = value { text } else { "" }
    for line in text.split(separator: "\n") {
      guard
        let match = line.wholeMatch(of: #/(v\d{1,9}-\d{8}T\d{6}Z(?:-\d{1,9})?) (\d{1,9})( first| leaving)?/#),
        let openings = Int(match.output.2)
      else { continue }
      let copy = KeptCopy(
        stamp: String(match.output.1), openings: openings, isBeforeRun: match.output.3 == " first")
      if match.output.3 == " leaving" { leaving.append(copy) } else { copies.append(copy) }
    }
  }

  var isEmpty: Bool { copies.isEmpty && leaving.isEmpty }
  private var row: SQLValue {
    let lines =
      copies.map { "\($0.stamp) \($0.openings)\($0.isBeforeRun ? " first" : "")" }
      + leaving.map { "\($0.stamp) \($0.openings) leaving" }
    return .text(lines.joined(separator: "\n"))
  }
  /// Whether the store stands between two steps of a run that did not come to its end.
  private var isWithinRun: Bool { copies.contains(where: \.isBeforeRun) }

  /// Remembers a copy that was made now. Those that go because of it are known until their files are gone.
  /// - Parameter beginsRun: Whether other steps of the same run will be committed behind those that it is made before.
  mutating func add(_ path: String, of file: DatabasePath, beginsRun: Bool) {
    let name = DatabasePath.split(path).name
    let stamp = name.dropFirst(file.name.count + 1).dropLast(".backup".count)
    let present = copies.filter { !$0.isLost(beside: file) }
    let first = present.first(where: \.isBeforeRun)
    let others = present.filter { $0 != first }
    let kept = others.suffix(MigrationBackup.kept - (first == nil ? 1 : 2))
    leaving = (leaving + others.dropLast(kept.count)).filter { !$0.isLost(beside: file) }
    copies =
      (first.map { [$0] } ?? []) + kept
      + [KeptCopy(stamp: String(stamp), openings: 0, isBeforeRun: beginsRun && first == nil)]
  }

  /// Removes the files of the copies that go: after the commit that says so. No other file goes, whatever it is called: that
  /// the store remembers to have made it is the proof.
  func removeLeaving(beside file: DatabasePath) {
    for copy in leaving where file.copyState(of: copy.name(of: file)) == .copy {
      // One that somebody has open goes with the next.
      file.removeUnused(copy.name(of: file))
    }
  }

  /// A run has come to its end: the copies are as any others.
  mutating func endRun() {
    for index in copies.indices { copies[index].isBeforeRun = false }
  }

  /// Writes the row, inside a transaction.
  func write(_ connection: Connection) throws {
    try MetaTable(connection: connection).write([(.copies, row)])
  }

  /// Those whose files lie beside a store, and are copies of it.
  func present(beside file: DatabasePath) -> [KeptCopy] {
    copies.filter { file.copyState(of: $0.name(of: file)) == .copy }
  }

  /// Counts an opening of a store that lacked no step, by a program that knows all of its steps, and removes the copies that
  /// have been kept for so many.
  ///
  /// A courtesy: where somebody else writes at the moment, or nobody can, the opening is not counted. Nor is that of a store
  /// between two steps of a run, which shows nothing of what the run is to come to.
  /// - Parameter limit: How many openings a copy is kept for.
  static func countOpening(_ connection: Connection, of file: DatabasePath, limit: Int) {
    connection.onBusy { _ in false }
    defer { connection.onBusy(nil) }
    try? connection.transaction(.immediate) {
      var kept = KeptCopies(try MetaTable(connection: connection).value(.copies))
      guard !kept.isEmpty, !kept.isWithinRun else { return }
      kept.removeLeaving(beside: file)
      // Whatever has such a name from now on is somebody else's.
      kept.leaving.removeAll { $0.isLost(beside: file) }
      kept.copies = kept.copies.compactMap { copy in
        let name = copy.name(of: file)
        // A name is no proof: the file may have been replaced by one of the user's. Whatever it is, it is not ours any more.
        if copy.isLost(beside: file) { return nil }
        var copy = copy
        copy.openings = min(copy.openings + 1, 999_999_999)
        guard copy.openings >= limit else { return copy }
        // Before the commit: a process that ends between them leaves a row about no file, which is taken out next time. One
        // that somebody looks into, or cannot be read at the moment, is asked again next time.
        return file.copyState(of: name) == .copy && file.removeUnused(name) ? nil : copy
      }
      try kept.write(connection)
    }
  }
}
