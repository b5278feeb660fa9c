// The copies that a store made of itself before steps, and the number of successful openings since. After
// a given number of openings a copy is removed. A store without copies is not written to. One copy may be
// from before a run that commits each step and has not finished. It has the state before all of its steps,
// so it is kept with the newest copy; copies between them, also of interrupted attempts, are removed.

internal import CipherSQLite
private import Foundation

/// A copy that a store made of itself.
package struct KeptCopy: Sendable, Hashable {
  /// The part of the name that differs among the store's copies: `v6-20261120T201502Z`, or with `-2` after
  /// it.
  let stamp: String
  /// The number of openings since, with no step to run.
  package var openings: Int
  /// Whether the copy was made before the first step of a run that has not finished.
  package var isBeforeRun = false

  /// Returns the name of the copy's file, which is in the store's folder.
  func name(of file: DatabasePath) -> String { "\(file.name).\(stamp).backup" }

  /// Whether the file does not exist any more, or another one has its name. A file that cannot be read at
  /// the moment exists.
  func isLost(beside file: DatabasePath) -> Bool {
    [.absent, .other].contains(file.copyState(of: name(of: file)))
  }
}

/// The row of `vault_meta` about the copies. It omits the store's name, because the store may be renamed.
struct KeptCopies: Equatable {
  private(set) var copies: [KeptCopy] = []
  /// Copies that newer ones have replaced, as long as their files may exist.
  private var leaving: [KeptCopy] = []

  init() {}

  /// Parses the row. A line of another form is ignored, so that it cannot name a foreign file as a copy.
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
  /// Whether the store is between two steps of a run that has not finished.
  private var isWithinRun: Bool { copies.contains(where: \.isBeforeRun) }

  /// Adds a copy that was just made. Copies that it replaces stay listed until their files are removed.
  /// - Parameter beginsRun: Whether the run will commit further steps after those that the copy precedes.
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

  /// Removes the files of replaced copies, after the commit of the row. No other file is removed, whatever
  /// its name: only files that the store has recorded are its copies.
  func removeLeaving(beside file: DatabasePath) {
    for copy in leaving where file.copyState(of: copy.name(of: file)) == .copy {
      // A file that is in use is removed the next time.
      file.removeUnused(copy.name(of: file))
    }
  }

  /// Ends a run: its first copy becomes an ordinary one.
  mutating func endRun() {
    for index in copies.indices { copies[index].isBeforeRun = false }
  }

  /// Writes the row, inside a transaction.
  func write(_ connection: Connection) throws {
    try MetaTable(connection: connection).write([(.copies, row)])
  }

  /// Returns the copies whose files exist in the store's folder and are copies of it.
  func present(beside file: DatabasePath) -> [KeptCopy] {
    copies.filter { file.copyState(of: $0.name(of: file)) == .copy }
  }

  /// Counts an opening that needed no step, by a program that has all of the store's steps. Removes copies
  /// that were kept for the limit of openings.
  ///
  /// This is done only if it is possible at once: an opening is not counted while another connection
  /// writes, or where writing is impossible. Nor is it counted between two steps of a run, because such an
  /// opening does not show that the run succeeded.
  /// - Parameter limit: The number of openings that a copy is kept for.
  static func countOpening(_ connection: Connection, of file: DatabasePath, limit: Int) {
    connection.onBusy { _ in false }
    defer { connection.onBusy(nil) }
    try? connection.transaction(.immediate) {
      var kept = KeptCopies(try MetaTable(connection: connection).value(.copies))
      guard !kept.isEmpty, !kept.isWithinRun else { return }
      kept.removeLeaving(beside: file)
      // A file that gets such a name later is not the store's.
      kept.leaving.removeAll { $0.isLost(beside: file) }
      kept.copies = kept.copies.compactMap { copy in
        let name = copy.name(of: file)
        // The name alone proves nothing: the user may have replaced the file. Then it is no longer the
        // store's.
        if copy.isLost(beside: file) { return nil }
        var copy = copy
        copy.openings = min(copy.openings + 1, 999_999_999)
        guard copy.openings >= limit else { return copy }
        // Removed before the commit: if the process ends in between, the row names no file and is cleaned
        // up next time. A file that is in use, or unreadable at the moment, is tried again next time.
        return file.copyState(of: name) == .copy && file.removeUnused(name) ? nil : copy
      }
      try kept.write(connection)
    }
  }
}
