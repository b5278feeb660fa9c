// The `diff` command: prints the operations that would turn the steps' model into that of the app's
// classes.

import Foundation
import ObjectVault

enum DiffCommand: Command {
  static let name = "diff"
  static let summary = "Show the operations that turn the steps' model into the app's classes; writes nothing"
  static let group = CommandGroup.write
  static let positionalCount = 0
  static let options = [Option.migrations, Option.rename, Option.noRename]
  static let help = """
    EXAMPLES
      app-migrate diff
      app-migrate diff --rename User.name=fullName --json

    app-migrate is your app's own build of this tool, with the app's classes inside; see "Building a tool with
    your steps inside" in the documentation. Ends with 2 when the classes differ from the model of the steps.
    Needs no store and no key. `new NAME --from-model` writes the same operations to the next file.
    """

  struct DiffReport: Report {
    var isScreen: Bool { true }
    let operations: [String]
    let losses: [String]
    /// The losses as the screen shows them.
    let lossTexts: [String]
    let notes: [String]
    let doubts: [String]
    /// The options that settle the doubts, one text for each old name.
    let answers: [String]
    /// The command line that writes the operations into a step; empty when there are none.
    let next: [String]

    private enum CodingKeys: String, CodingKey { case operations, losses, notes, doubts, answers, next }

    var exitCode: ExitCode { operations.isEmpty ? .ok : .attention }

    var description: String {
      guard !operations.isEmpty else { return "The steps match the classes." }
      var lines = ["[up]"] + operations
      if !losses.isEmpty || !notes.isEmpty || !doubts.isEmpty { lines.append("") }
      lines += lossTexts.map { "LOSES \($0)" } + notes.map { "? \($0)" }
      lines += answers.map { "May be a renaming: \($0)" }
      return (lines + next.flatMap { ["", "To write them to a file: \($0)"] }).joined(separator: "\n")
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let proposal = try session.proposedOperations(session.authored())
    let doubts = try session.doubts(in: proposal)
    let denied = session.arguments.all("--no-rename").flatMap { ["--no-rename", $0] }
    let line = session.offer(
      NewCommand.self,
      ["NAME", "--from-model"] + session.arguments.all("--rename").flatMap { ["--rename", $0] } + denied
        + (session.arguments.has("--no-rename") ? ["--no-rename"] : []))
    return DiffReport(
      operations: proposal.lines, losses: proposal.losses, lossTexts: proposal.lossTexts,
      notes: proposal.notesWithOptions,
      doubts: doubts.map(\.description), answers: session.answers(to: doubts),
      next: proposal.lines.isEmpty ? [] : [line])
  }
}
