// The `squash` command: folds the first steps into one file, from which new stores are made.

import CipherSQLite
import Foundation
import ObjectVault
import VaultAuthoring

enum SquashCommand: Command {
  static let name = "squash"
  static let summary = "Fold the first steps into a single file, checked to have the same result"
  static let group = CommandGroup.write
  static let positionalCount = 0
  private static let allowReleased = Option(
    "--allow-released",
    "also fold released steps; stores that have not run them all then need an earlier release")
  static let options = [
    Option.migrations, Option("--to", value: "N", "the last step to fold; its file replaces all of them"),
    allowReleased,
  ]
  static let help = """
    EXAMPLES
      store-migrate squash --to 40                      steps that were never released
      store-migrate squash --to 40 --allow-released     steps that every store has run

    The new file of step N has the same result as steps 1 to N, and records their checksums. The other files of
    these steps are removed. New stores are created with the new file. Stores at version N or above do not
    change. A store at a version from 1 to N - 1 is refused (exit code 3); the error names the release that can
    migrate it. So fold only steps that all stores have run. Steps after the last release cannot be folded
    together with released ones, because no release migrates a store to version N.

    The models are compared. If a step has a seed or a transform, one store is created with the steps and one with
    the new file, and every row is compared. If rows would differ, the command ends with 5 and lists the data
    blocks of the steps (seeds, transforms, conditions). If these blocks create no row in a new store, the new file
    omits all of them. The generated files are written again. Needs no store and no key.
    """

  struct SquashReport: Report {
    let file: String
    let folded: [String]
    let kept: [String]
    let leftOut: [String]
    let written: [String]
    /// Whether this run completed an interrupted squash: the file of the fold already existed, and the
    /// files that it replaces were removed.
    var isFinished = false

    private enum CodingKeys: String, CodingKey { case file, folded, kept, leftOut, written }

    var description: String {
      let lines =
        folded.map { "\(isFinished ? "removed " : "folded  ")  \($0)" } + kept.map { "kept      \($0)" }
        + leftOut.map { "omitted   \($0): a new store has no rows for it" }
      return
        (lines + ["\(isFinished ? "replaced by" : "wrote    ") \(file)"]
        + written.map { "wrote     \($0)" }).joined(separator: "\n")
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let folder = session.migrationsFolder
    try session.requireFolder(folder)
    guard let number = try session.arguments.count("--to") else {
      throw UsageError("squash needs --to N, the last step to fold. \(ToolLine.help(name))")
    }
    guard number > 1 else {
      throw UsageError("squash --to \(number): a fold replaces several steps, so N must be 2 or more.")
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
            ? "\(folder.path) has no steps."
            : "there is no such step; the last one is \(numbered(set.version)).")
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
    // The new file is written first. If the process is killed before the other files are removed, the
    // folder can still be read, and the same command completes the squash.
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
        ? "The released steps can be folded:\n    \(line(releases.version, session))\n"
        : "Wait until these steps are released, too "
          + "(\(session.offer(EmbedCommand.self, ["--released", "NAME"]))). "
      throw RefusedError(
        code: .refused,
        description:
          "\(numbered(number)) comes after the last release, which has the steps up to "
          + "\(numbered(releases.version)). No release can migrate a user's store to it. \(advice)"
          + "Nothing was written.")
    }
    guard !isAllowed else { return }
    throw RefusedError(
      code: .refused,
      description:
        "The steps up to \(numbered(number)) were released with "
        + "\(releases.release(of: number) ?? "an earlier release"). "
        + "Stores that have not run all of them would first need "
        + "\(releases.last(with: number).map { "release \($0)" } ?? "that release"). If that is intended:\n"
        + "    \(line(number, session))\nNothing was written.")
  }

  /// Returns the command line that folds released steps.
  private static func line(_ number: Int, _ session: Session) -> String {
    session.offer(SquashCommand.self, ["--to", "\(number)", allowReleased.name])
  }
}
