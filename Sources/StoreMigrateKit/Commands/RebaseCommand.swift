// rebase: steps of a branch go behind those that were merged meanwhile.

import Foundation
import ObjectVault

enum RebaseCommand: Command {
  static let name = "rebase"
  static let summary = "Renumber steps of a branch behind those of the other one"
  static let group = CommandGroup.write
  static let positionalCount = -1
  static let positionalNames = "FILE…"
  static let options = [Option.migrations]
  static let help = """
    EXAMPLES
      store-migrate rebase 0007_split_user_name.migration
      store-migrate rebase 0007_split_user_name.migration 0008_drop_user_name.migration

    When two branches have added a step of the same number, the files that are named get the next free numbers, in their
    order, behind all others. Then the steps are replayed and compiled, and what embed writes is written anew, also where
    the merge has left conflicts in it. A step that the lock file says was released stays where it is. Needs no store
    and no key. A store that has run a step under its old number remembers it: migrate it down before, or make it anew.
    """

  struct Move: Encodable {
    let from: String
    let to: String
  }

  struct RebaseReport: Report {
    let moved: [Move]
    let written: [String]
    var description: String {
      (moved.map { "\($0.from) is \($0.to) now" } + written.map { "wrote \($0)" }).joined(separator: "\n")
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let folder = session.migrationsFolder
    try session.requireFolder(folder)
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .filter { $0.hasSuffix(".migration") }.sorted()
    let named = try session.arguments.positional.dropFirst().map { try file($0, among: files, folder) }
    guard !named.isEmpty, Set(named).count == named.count else {
      throw UsageError(
        named.isEmpty
          ? "Name the files of your branch. See: store-migrate help rebase" : "A file is named twice.")
    }
    let moves = try self.moves(of: named, files, Releases(folder))
    guard moves.contains(where: { $0.from != $0.to }) else {
      throw UsageError(
        "\(named.joined(separator: ", ")): nothing stands behind them that they could go behind.")
    }
    // All is tried in memory before a file is touched.
    let steps = try files.map { file in
      let name = moves.first { $0.from == file }?.to ?? file
      return try step(name, folder.appendingPathComponent(file))
    }
    let set = try MigrationSet(steps)
    let faults = try set.compileFaults()
    guard faults.isEmpty else {
      throw RefusedError(
        code: .attention,
        description: faults.joined(separator: "\n")
          + "\nBehind the other branch's steps that does not fit any more. Edit it, and run rebase again. Nothing was changed."
      )
    }
    try Releases(folder).requireKept(in: set)
    try move(moves.filter { $0.from != $0.to }, in: folder)
    let written = try EmbedCommand.write(GeneratedFiles(folder: folder, typeName: nil)).written
    return RebaseReport(moved: moves, written: written)
  }

  /// By way of names that no step has, as a new name may be the former one of another file. All are moved, or none.
  private static func move(_ moves: [Move], in folder: URL) throws {
    let files = FileManager.default
    var done: [(from: String, to: String)] = []
    func rename(_ from: String, _ to: String) throws {
      try files.moveItem(at: folder.appendingPathComponent(from), to: folder.appendingPathComponent(to))
      done.append((from, to))
    }
    do {
      for move in moves { try rename(move.from, move.from + ".rebasing") }
      for move in moves { try rename(move.from + ".rebasing", move.to) }
    } catch {
      for (from, to) in done.reversed() {
        try? files.moveItem(at: folder.appendingPathComponent(to), to: folder.appendingPathComponent(from))
      }
      throw error
    }
  }

  /// The file that an argument names, by its name or its path.
  private static func file(_ word: String, among files: [String], _ folder: URL) throws -> String {
    let path = URL(fileURLWithPath: word)
    let name = path.lastPathComponent
    let isElsewhere =
      word.contains("/")
      && path.deletingLastPathComponent().resolvingSymlinksInPath().path
        != folder.resolvingSymlinksInPath().path
    if !isElsewhere, files.contains(name) { return name }
    guard !isElsewhere else { throw UsageError("\(word) does not lie in \(folder.path).") }
    throw UsageError("\(folder.path) has no \(name).\(didYouMean(name, among: files))")
  }

  private static func moves(of named: [String], _ files: [String], _ releases: Releases) throws -> [Move] {
    let others = files.filter { !named.contains($0) }
    var next = (others.compactMap(number).max() ?? 0) + 1
    return try named.sorted { (number($0) ?? 0, $0) < (number($1) ?? 0, $1) }.map { file in
      let isAlone = !others.contains { number($0) == number(file) }
      let name = file.split(separator: "_", maxSplits: 1).last?.dropLast(".migration".count) ?? ""
      let release = number(file).flatMap { releases.release(of: $0, String(name)) }
      if let release {
        throw RefusedError(
          code: .refused,
          description: "\(file) was released with \(release), and keeps its number. Nothing was changed.")
      }
      guard !isAlone || !others.contains(where: { (number($0) ?? 0) > (number(file) ?? 0) }) else {
        throw RefusedError(
          code: .refused,
          description:
            "\(file) is the only step of its number, and others build on it: it keeps its place. Nothing was changed."
        )
      }
      defer { next += 1 }
      let title = file.split(separator: "_", maxSplits: 1).last ?? ""
      return Move(from: file, to: "\(numbered(next))_\(title)")
    }
  }

  private static func number(_ file: String) -> Int? { file.split(separator: "_").first.flatMap { Int($0) } }

  private static func step(_ name: String, _ file: URL) throws -> MigrationStep {
    guard let text = String(data: try Data(contentsOf: file), encoding: .utf8) else {
      throw RefusedError(code: .failed, description: "\(name) cannot be read as UTF-8. Nothing was changed.")
    }
    let parts = name.dropLast(".migration".count).split(separator: "_", maxSplits: 1)
    return try MigrationStep(
      number: number(name) ?? 0, name: parts.count > 1 ? String(parts[1]) : "", text: text, file: name)
  }
}
