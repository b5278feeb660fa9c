// The `squash` command: folds the first steps into one file, from which new stores are made.

import CipherSQLite
import Foundation
import ObjectVault
import VaultAuthoring

enum SquashCommand: Command {
  static let name = "squash"
  static let summary = "Fold the steps up to one into a single file, proven to do the same"
  static let group = CommandGroup.write
  static let positionalCount = 0
  private static let allowReleased = Option(
    "--allow-released",
    "steps that were released, too: stores that are not beyond them need an earlier release")
  static let options = [
    Option.migrations, Option("--to", value: "N", "the last step that is folded; its file stands for all"),
    allowReleased,
  ]
  static let help = """
    EXAMPLES
      store-migrate squash --to 40                      of steps that were never released
      store-migrate squash --to 40 --allow-released     of steps that every store has behind it

    The file of step N makes what steps 1 to N make, and remembers their checksums; the other files go. New stores are made
    with it. Stores at N or above are as before, whichever way they came there. A store below N is refused (3), and told
    which release leads on from there: so squash what everybody is beyond. Steps behind the last release cannot
    be folded with released ones, because no release leads there.

    The model is compared. Where steps have seeds a store is made either way and every row compared; a squash that
    would leave others is refused, with the blocks (5). Transforms and conditions go where no seed is: they would meet no
    row. What embed writes is written anew. Needs no store and no key.
    """

  struct SquashReport: Report {
    let file: String
    let folded: [String]
    let kept: [String]
    let leftOut: [String]
    let written: [String]
    /// Whether this run completed an interrupted squash: the one file existed, and only the others were
    /// removed.
    var isFinished = false

    private enum CodingKeys: String, CodingKey { case file, folded, kept, leftOut, written }

    var description: String {
      let lines =
        folded.map { "\(isFinished ? "removed " : "folded  ")  \($0)" } + kept.map { "kept      \($0)" }
        + leftOut.map { "left out  \($0), which would meet no row of a new store" }
      return
        (lines + ["\(isFinished ? "in place of them" : "wrote    ") \(file)"]
        + written.map { "wrote     \($0)" }).joined(separator: "\n")
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let folder = session.migrationsFolder
    try session.requireFolder(folder)
    guard let number = try session.arguments.count("--to") else {
      throw UsageError("squash takes --to N, the last step that is folded. \(ToolLine.help(name))")
    }
    guard number > 1 else {
      throw UsageError("squash --to \(number): one file stands for several steps, so that N is 2 or more.")
    }
    return try await session.writing(to: folder) { try squash(folder, to: number, session) }
  }

  private static func squash(_ folder: URL, to number: Int, _ session: Session) throws -> SquashReport {
    let (set, releases) = (try session.directory(folder), try Releases(folder))
    let left = try Session.filesBesideFold(of: set, in: folder)
    if number == set.foldedVersion, !left.isEmpty { return try finish(left, of: set, in: session) }
    guard number <= set.version else {
      throw UsageError(
        "squash --to \(number): "
          + (set.version == 0
            ? "\(folder.path) has no steps." : "there is no such step; they end at \(numbered(set.version)).")
      )
    }
    try releases.requireKept(in: set)
    try check(number, against: releases, migrations: set, in: session)
    let former = try Session.stepFiles(in: folder, upTo: number)
    let fold = try set.folded(to: number, release: releases.last(with: number))
    let generated = try GeneratedFiles(folder: folder, set: fold.migrations).writable()
    let name = Self.file(of: fold.step, among: former)
    let file = folder.appendingPathComponent(name)
    let others = former.filter { $0 != name }
    session.interruption.begin(FoldedFiles(folder: folder, file: name, step: fold.step, former: others))
    // The one file is written first: if the process is killed here, all steps still exist, and the set
    // reads as before.
    try TextFile.write(Array(fold.step.fileText.utf8), to: file.path)
    // In reverse order: a former file with the number of the fold is removed first, because a number must
    // not be used twice.
    try remove(others.reversed(), in: folder)
    return SquashReport(
      file: file.path, folded: former, kept: fold.kept, leftOut: fold.leftOut,
      written: try EmbedCommand.written(generated, session))
  }

  /// Completes an interrupted squash: removes the files that the fold replaces.
  private static func finish(
    _ left: [String], of set: MigrationSet, in session: Session
  ) throws -> SquashReport {
    let folder = session.migrationsFolder
    let step = set.steps[set.foldedVersion - 1]
    let generated = try GeneratedFiles(folder: folder, set: set).writable()
    let name = Self.file(of: step, among: try Session.stepFiles(in: folder, upTo: step.number))
    session.interruption.begin(FoldedFiles(folder: folder, file: name, step: step, former: left))
    try remove(left, in: folder)
    return SquashReport(
      file: folder.appendingPathComponent(name).path, folded: left, kept: [], leftOut: [],
      written: try EmbedCommand.written(generated, session), isFinished: true)
  }

  /// Returns the name of a step's file as the folder has it, which may be in another Unicode
  /// normalization form.
  private static func file(of step: MigrationStep, among files: [String]) -> String {
    files.first { $0 == step.fileName } ?? step.fileName
  }

  private static func remove(_ names: [String], in folder: URL) throws {
    for name in names { try TextFile.remove(folder.appendingPathComponent(name).path) }
  }

  /// Checks that no store of a user is left without a release that migrates it.
  /// - Throws: ``RefusedError`` when one would be.
  private static func check(
    _ number: Int, against releases: Releases, migrations set: MigrationSet, in session: Session
  ) throws {
    guard releases.version > 0 else { return }
    let isAllowed = session.arguments.has("--allow-released")
    guard number <= releases.version else {
      // A single step, or one that is a fold already, leaves nothing to fold.
      let advice =
        releases.version > max(1, set.foldedVersion)
        ? "Those that were released can be folded:\n    \(line(releases.version, session))\n"
        : "Leave them as they are until they are released, too (\(session.offer(EmbedCommand.self, ["--released", "NAME"]))). "
      throw RefusedError(
        code: .refused,
        description:
          "\(numbered(number)) is behind the last release, which has the steps up to \(numbered(releases.version)): no release "
          + "leads a store of a user there. \(advice)Nothing was written.")
    }
    guard !isAllowed else { return }
    throw RefusedError(
      code: .refused,
      description:
        "The steps up to \(numbered(number)) were released with \(releases.release(of: number) ?? "an earlier release"). Stores "
        + "that are not beyond them would need \(releases.last(with: number) ?? "that release") first. When that is meant:\n"
        + "    \(line(number, session))\nNothing was written.")
  }

  /// Returns the command line that folds released steps.
  private static func line(_ number: Int, _ session: Session) -> String {
    session.offer(SquashCommand.self, ["--to", "\(number)", allowReleased.name])
  }
}
