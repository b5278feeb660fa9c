// The `embed` command: writes the generated files of a migrations folder.

import CipherSQLite
import Foundation
import ObjectVault

enum EmbedCommand: Command {
  static let name = "embed"
  static let summary = "Write Embedded.swift, schema.json and migrations.lock"
  static let group = CommandGroup.write
  static let positionalCount = 0
  static let options = [
    Option.migrations,
    Option(
      "--released", value: "NAME",
      "record in the lock file that this release contains the steps so far;",
      "from then on, `check` reports an edit of them"),
    Option(
      "--package",
      "print a target for the folder, to be put into Package.swift once; `embed` then updates the",
      "list of files between the two comments of this target"),
    Option("--type", value: "NAME", "the name of the Swift enum with the steps; default AppMigrations"),
  ]
  static let help = """
    EXAMPLES
      store-migrate embed                          in ./Migrations
      store-migrate embed -m App/Migrations --type AppMigrations
      store-migrate embed --released 4.1           release 4.1 contains the steps so far
      store-migrate embed --package                the folder as a target of Package.swift

    Writes the Swift code that the app links (Embedded.swift), the model after the last step (schema.json, for
    review) and the chain of checksums (migrations.lock). Needs no store and no key.

    Each of the three files begins with a line, or a key, that marks it as generated. If a file of one of these
    names lacks the mark, `embed`, `rebase` and `squash` do not overwrite it, and end with 5.

    If the folder is itself a target of a package, the package manager warns of each file that is not Swift
    and that the target does not exclude. --package shows a target whose exclude: list is between two comments.
    If the nearest Package.swift above the folder has these comments, `embed`, `rebase` and `squash` update the
    list, and `check` compares it with the folder. A subfolder that contains Swift code is not excluded as a
    whole: the list names each of its other files. If a comment is missing, Package.swift does not change, and a
    note explains what to do.
    """

  struct EmbedReport: Report {
    let written: [String]
    let unchanged: [String]
    /// The target for the folder, to be put into Package.swift; nil without `--package`, or when
    /// Package.swift already has a list that `embed` updates.
    var package: String?
    /// Why the list in Package.swift was not updated, and what to do; nil when it was, or when
    /// Package.swift does not mention the folder.
    var note: String?
    var isData: Bool { package != nil }
    var description: String {
      let lines = written.map { "wrote      \($0)" } + unchanged.map { "unchanged  \($0)" }
      let target = package.map { ["", "Add this to the targets of Package.swift, once:", $0] } ?? []
      return (lines + (note.map { ["note: \($0)"] } ?? []) + target).joined(separator: "\n")
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let type = session.arguments.value("--type")
    if let type, !SwiftName.isType(type) {
      throw UsageError(
        "--type takes the name of a Swift enum, such as AppMigrations, not \"\(type)\".")
    }
    let folder = session.migrationsFolder
    try session.requireFolder(folder)
    return try await session.writing(to: folder) {
      let files = try GeneratedFiles(
        folder: folder, set: session.steps(in: folder), typeName: type,
        releasing: session.arguments.value("--released"))
      let writable = try files.writable()
      session.interruption.begin(
        GeneratedTexts(
          folder: folder, writable.contents.map { ($0.file.url(in: folder), Data($0.text.utf8)) }))
      var report = try write(writable)
      if session.arguments.has("--package") {
        if case .kept = try files.target.listing() { return report }
        report.package = try files.target.text()
      }
      return report
    }
  }

  /// Writes the files for a command that returns another report: a note about Package.swift becomes a
  /// warning.
  /// - Returns: The paths of the files that were written.
  static func written(_ writable: WritableFiles, _ session: Session) throws -> [String] {
    let report = try write(writable)
    if let note = report.note { session.warn(note) }
    return report.written
  }

  /// Writes the files whose content differs from what it should be.
  private static func write(_ writable: WritableFiles) throws -> EmbedReport {
    let files = writable.files
    var (written, unchanged): ([String], [String]) = ([], [])
    func write(_ url: URL, _ text: String) throws {
      if try TextFile.read(url.path) == Array(text.utf8) {
        unchanged.append(url.path)
      } else {
        try TextFile.write(Array(text.utf8), to: url.path)
        written.append(url.path)
      }
    }
    for (file, text) in writable.contents { try write(file.url(in: files.folder), text) }
    // After the generated files, because the list in Package.swift includes them.
    var note: String?
    switch try files.target.listing() {
    case .none: break
    case .kept(let manifest, let text): try write(manifest, text)
    case .lost(let manifest, let reason, _): note = files.target.advice(manifest, reason)
    }
    return EmbedReport(written: written, unchanged: unchanged, note: note)
  }
}
