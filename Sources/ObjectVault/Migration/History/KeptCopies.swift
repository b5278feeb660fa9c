// The copies that a store made of itself before steps, each with the number of successful openings since.
// After a given number of openings a copy is removed. A store without copies is not written to.
//
// At most two copies are kept: the two newest ones. While a run that commits each step by itself has not
// finished, they are the newest copy and the copy from before the run's first step. All other copies,
// also those of interrupted attempts, are removed.

internal import CipherSQLite
private import Foundation

/// A copy that a store made of itself.
package struct KeptCopy: Sendable, Hashable {
  /// The part of the file's name that differs among the store's copies: `v6-20261120T201502Z`, or such a
  /// text with `-2` appended.
  let stamp: String
  /// The number of openings since the copy was made that had no step to run.
  package var openings: Int
  /// Whether the copy was made before the first step of a run that has not finished.
  package var isBeforeRun = false

  /// Returns the name of the copy's file, which is in the store's folder.
  func name(of file: DatabasePath) -> String { "\(file.name).\(stamp).backup" }

  /// Whether the copy's file no longer exists, or its name belongs to another file. A file that is
  /// unreadable at the moment counts as existing.
  func isLost(beside file: DatabasePath) -> Bool {
    [.absent, .other].contains(file.copyState(of: name(of: file)))
  }
}

/// The row of `vault_meta` about the copies. The row has the stamps and not the names of the files,
/// because the store may be renamed.
struct KeptCopies: Equatable {
  /// The copies, from the oldest to the newest.
  private(set) var copies: [KeptCopy] = []
  /// Copies that newer ones have replaced, until their files are removed.
  private var leaving: [KeptCopy] = []

  init() {}

  /// Parses the row. A line of another form is ignored, so that no damaged line names a foreign file as a
  /// copy.
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

  /// Adds a copy that was just made. Copies that it replaces remain listed until their files are removed.
  /// - Parameter beginsRun: Whether further transactions of the run follow the one that records the copy.
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

  /// Removes the files of replaced copies; call it after the commit of the row. Only files that the row
  /// names are removed, whatever names other files have.
  func removeLeaving(beside file: DatabasePath) {
    for copy in leaving where file.copyState(of: copy.name(of: file)) == .copy {
      // A file that is in use is removed at a later attempt.
      file.removeUnused(copy.name(of: file))
    }
  }

  /// Ends a run: the copy from before its first step becomes an ordinary copy.
  mutating func endRun() {
    for index in copies.indices { copies[index].isBeforeRun = false }
  }

  /// Writes the row, in the caller's transaction.
  func write(_ connection: Connection) throws {
    try MetaTable(connection: connection).write([(.copies, row)])
  }

  /// Returns the copies whose files exist in the store's folder and are copies of it.
  func present(beside file: DatabasePath) -> [KeptCopy] {
    copies.filter { file.copyState(of: $0.name(of: file)) == .copy }
  }

  /// Counts an opening that needed no step, by a program that has all of the store's steps. Removes
  /// copies that have been kept for the given number of openings.
  ///
  /// An opening is not counted while another connection writes, because the function never waits, or if
  /// writing is impossible. Neither is an opening counted between two steps of a run, because it does not
  /// show that the run succeeded.
  /// - Parameter limit: The number of openings for which a copy is kept.
  static func countOpening(_ connection: Connection, of file: DatabasePath, limit: Int) {
    connection.onBusy { _ in false }
    defer { connection.onBusy(nil) }
    try? connection.transaction(.immediate) {
      var kept = KeptCopies(try MetaTable(connection: connection).value(.copies))
      guard !kept.isEmpty, !kept.isWithinRun else { return }
      kept.removeLeaving(beside: file)
      // From now on, a file that gets such a name is not the store's copy.
      kept.leaving.removeAll { $0.isLost(beside: file) }
      kept.copies = kept.copies.compactMap { copy in
        let name = copy.name(of: file)
        // A name is no proof: the user may have replaced the file, which then is no copy of the store.
        if copy.isLost(beside: file) { return nil }
        var copy = copy
        copy.openings = min(copy.openings + 1, 999_999_999)
        guard copy.openings >= limit else { return copy }
        // Removed before the commit. If the process ends between the two, the row names a missing file,
        // which the next opening drops. A file that is in use, or unreadable at the moment, is tried
        // again at the next opening.
        return file.copyState(of: name) == .copy && file.removeUnused(name) ? nil : copy
      }
      try kept.write(connection)
    }
  }
}
