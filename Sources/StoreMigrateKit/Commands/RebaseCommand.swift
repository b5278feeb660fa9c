// The `rebase` command: renumbers a branch's steps to follow those that were merged meanwhile.

import CipherSQLite
import Foundation
import ObjectVault

enum RebaseCommand: Command {
  static let name = "rebase"
  static let summary = "Renumber the steps of a branch to follow those of another branch"
  static let group = CommandGroup.write
  static let positionalCount = -1
  static let positionalNames = "FILE…"
  static let options = [Option.migrations]
  static let help = """
    EXAMPLES
      store-migrate rebase 0007_split_user_name.migration
      store-migrate rebase 0007_split_user_name.migration 0008_drop_user_name.migration   the whole branch

    Use it when two branches added steps with the same numbers. The given files get the next free numbers after
    all others, in the order of their old numbers. The steps are replayed and compiled before a file is renamed.
    The files that `embed` generates are written again, even if they contain merge conflicts. A Swift file with
    the name of a step is renamed with the step. A step that is released according to the lock file cannot be
    renumbered. Needs no store and no key. A store that ran a step under its old number keeps that record: run
    `down` on the store before the rebase, or create the store again.
    """

  struct Move: Encodable {
    let from: String
    let to: String
  }

  struct RebaseReport: Report {
    let moved: [Move]
    let written: [String]
    var description: String {
      (moved.map { "\($0.from) is now \($0.to)" } + written.map { "wrote \($0)" }).joined(separator: "\n")
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let folder = session.migrationsFolder
    try session.requireFolder(folder)
    return try await session.writing(to: folder) { try rebase(folder, session) }
  }

  private static func rebase(_ folder: URL, _ session: Session) throws -> RebaseReport {
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .filter(MigrationSet.isStepFile).sorted()
    let named = try session.arguments.positional.dropFirst().map { try file($0, among: files, folder) }
    guard !named.isEmpty, Set(named).count == named.count else {
      throw UsageError(
        named.isEmpty
          ? "Give the files of your branch. \(ToolLine.help(name))" : "A file is given twice.")
    }
    let moves = try self.moves(of: named, among: files, try Releases(folder))
    guard moves.contains(where: { $0.from != $0.to }) else {
      throw UsageError(
        "\(named.joined(separator: ", ")): no other step comes after "
          + (named.count == 1 ? "it, so it keeps its number." : "them, so they keep their numbers."))
    }
    let set = try tried(moves, of: named, among: files, in: folder, session: session)
    let generated = try GeneratedFiles(folder: folder, set: set).writable()
    let steps = moves.filter { $0.from != $0.to }
    let renamed = steps + (try functions(of: steps, folder))
    session.interruption.begin(RenamedSteps(folder: folder, moves: renamed.map { ($0.from, $0.to) }))
    try move(renamed, in: folder)
    return RebaseReport(
      moved: moves + renamed.dropFirst(steps.count), written: try EmbedCommand.written(generated, session))
  }

  /// Returns the steps as they will be. Everything is tried in memory before a file is touched.
  /// - Throws: ``RefusedError`` when the steps do not fit; it has the command line that works, if one is
  ///   found.
  private static func tried(
    _ moves: [Move], of named: [String], among files: [String], in folder: URL, session: Session
  ) throws -> MigrationSet {
    let set = try renumbered(moves, of: named, in: folder, session: session)
    do {
      let faults = try set.compileFaults()
      guard !faults.isEmpty else { return set }
      throw misfit(faults, moves: moves, of: named, in: session)
    } catch let error as StoreError {
      guard case .migrationFailed(let number, let name, let operation, let reason) = error else {
        throw error
      }
      let others = try companions(of: named, among: files, in: folder, after: error)
      guard !others.isEmpty else {
        let step = set.steps.first { $0.number == number && $0.name == name }
        let place = step?.place(ofOperation: operation) ?? "step \(numbered(number)) \(name)"
        throw misfit(
          ["\(place), \"\(legible(operation))\": \(ended(legible(reason)))"], moves: moves, of: named,
          in: session)
      }
      throw RefusedError(
        code: .attention,
        description: """
          \(others.joined(separator: ", ")) \(others.count == 1 ? "depends" : "depend") on the given files. \
          Include \(others.count == 1 ? "it" : "them"):
              \(session.rebaseLine((named + others).sorted()))
          No file was renamed.
          """)
    }
  }

  /// Returns the error for steps that do not fit with their new numbers. It names them as their files are
  /// named now.
  private static func misfit(
    _ faults: [String], moves: [Move], of named: [String], in session: Session
  ) -> RefusedError {
    let lines = faults.map { fault -> String in
      guard let move = moves.first(where: { fault.hasPrefix($0.to) }) else { return fault }
      return move.from + fault.dropFirst(move.to.count)
    }
    return RefusedError(
      code: .attention,
      description: lines.joined(separator: "\n") + """

        This does not fit after the other branch's steps. Edit it, and run again:
            \(session.rebaseLine(named))
        No file was renamed.
        """)
  }

  /// Returns the steps with their new numbers.
  /// - Throws: ``RefusedError`` when two would still have the same number. It has one command line for
  ///   each of the two; one of these lines names the whole branch.
  private static func renumbered(
    _ moves: [Move], of named: [String], in folder: URL, session: Session
  ) throws -> MigrationSet {
    do { return try renumbered(moves, in: folder) } catch let error as StoreError {
      guard case .historyConflict(.duplicate(_, let files)) = error else { throw error }
      throw RefusedError(
        code: ExitCode(error),
        description: """
          \(files.joined(separator: ", ")) would still have the same number. Include the one of your branch:
          \(files.map { "    \(session.rebaseLine((named + [$0]).sorted()))" }.joined(separator: "\n"))
          No file was renamed.
          """)
    }
  }

  private static func renumbered(_ moves: [Move], in folder: URL) throws -> MigrationSet {
    try MigrationSet.directory(folder) { file in moves.first { $0.from == file }?.to ?? file }
  }

  /// Returns the files that have to be renamed along with the named ones so that the steps fit: each step
  /// that fails and has a higher number than the first named one. Empty when renaming them does not help.
  private static func companions(
    of named: [String], among files: [String], in folder: URL, after error: StoreError
  ) throws -> [String] {
    let releases = try Releases(folder)
    let first = try named.map { try MigrationSet.numberAndName(of: $0).0 }.min() ?? 0
    var (others, error): ([String], StoreError?) = ([], error)
    while case .migrationFailed(_, let name, _, _)? = error {
      let failed = try files.first { file in
        let (number, itsName) = try MigrationSet.numberAndName(of: file)
        return itsName == name && number > first && !(named + others).contains(file)
      }
      guard let failed else { return [] }
      others.append(failed)
      guard let moves = try? moves(of: named + others, among: files, releases) else { return [] }
      error = nil
      do { _ = try renumbered(moves, in: folder).models() } catch let next as StoreError { error = next }
    }
    return error == nil ? others : []
  }

  /// Renames all files, or none. Each goes through a temporary name, because its new name may still
  /// belong to another file. The temporary name is the new one with a suffix, so an interrupted renaming
  /// is completed by removing the suffix.
  private static func move(_ moves: [Move], in folder: URL) throws {
    var done: [(from: String, to: String)] = []
    func path(_ name: String) -> String { folder.appendingPathComponent(name).path }
    func call(_ from: String, to: String) throws {
      try TextFile.move(path(from), to: path(to))
      done.append((from, to))
    }
    do {
      for move in moves { try call(move.from, to: move.to + RenamedSteps.suffix) }
      for move in moves { try call(move.to + RenamedSteps.suffix, to: move.to) }
    } catch {
      for (from, to) in done.reversed() { try? TextFile.move(path(to), to: path(from)) }
      throw error
    }
  }

  /// Returns the renamings of the Swift files with the functions of these steps.
  /// - Throws: ``RefusedError`` when another file already has such a new name.
  private static func functions(of moves: [Move], _ folder: URL) throws -> [Move] {
    let found = moves.map { Move(from: StepFunctions.file(of: $0.from), to: StepFunctions.file(of: $0.to)) }
      .filter { StepFunctions.isThere($0.from, in: folder) }
    for move in found where !found.contains(where: { $0.from == move.to }) {
      guard !StepFunctions.isThere(move.to, in: folder) else {
        throw RefusedError(
          code: .failed,
          description:
            "\(move.from) would become \(move.to), but that file already exists. Move it away. "
            + "No file was renamed.")
      }
    }
    return found
  }

  /// Returns the step file that an argument names, by its file name or its path.
  /// - Throws: ``UsageError`` when there is none, or when the path is in another folder.
  private static func file(_ word: String, among files: [String], _ folder: URL) throws -> String {
    let path = URL(fileURLWithPath: word)
    let name = path.lastPathComponent
    let isElsewhere =
      word.contains("/")
      && path.deletingLastPathComponent().resolvingSymlinksInPath().path
        != folder.resolvingSymlinksInPath().path
    // The name is returned as the folder spells it. On some file systems, the same name in another
    // Unicode normalization form refers to no file.
    if !isElsewhere, let file = files.first(where: { $0 == name }) { return file }
    guard !isElsewhere else { throw UsageError("\(word) is not in \(folder.path).") }
    throw UsageError("\(folder.path) has no \(name).\(didYouMean(name, among: files))")
  }

  private static func moves(
    of named: [String], among files: [String], _ releases: Releases
  ) throws -> [Move] {
    func parts(_ file: String) throws -> (number: Int, name: String) {
      try MigrationSet.numberAndName(of: file)
    }
    let others = try files.filter { !named.contains($0) }.map { try parts($0).number }
    var last = others.max() ?? 0
    return try named.map { (file: $0, parts: try parts($0)) }
      .sorted { ($0.parts.number, $0.file) < ($1.parts.number, $1.file) }
      .map { file, parts in
        if let release = releases.release(of: parts.number, parts.name) {
          throw RefusedError(
            code: .refused,
            description:
              "\(file) was released with \(release), so it must keep its number. No file was renamed.")
        }
        guard others.contains(parts.number) || others.allSatisfy({ $0 < parts.number }) else {
          throw RefusedError(
            code: .refused,
            description:
              "\(file) is the only step with its number, and later steps depend on it, so it must keep its "
              + "number. No file was renamed."
          )
        }
        last += 1
        return Move(from: file, to: "\(numbered(last))_\(parts.name).migration")
      }
  }
}
