// embed: write the generated files.

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
      "note in the lock file that the steps so far are in this release: check then",
      "refuses to see them edited"),
    Option("--type", value: "NAME", "how the enum of the steps is called in Swift; default AppMigrations"),
  ]
  static let help = """
    EXAMPLES
      store-migrate embed                          in ./Migrations
      store-migrate embed -m App/Migrations --type AppMigrations
      store-migrate embed --released 4.1           the steps so far are in people's hands

    Writes what the app links (Embedded.swift), the model after the last step (schema.json, for review) and
    the chain of checksums (migrations.lock). Needs no store and no key.
    """

  struct EmbedReport: Report {
    let written: [String]
    let unchanged: [String]
    var description: String {
      (written.map { "wrote      \($0)" } + unchanged.map { "unchanged  \($0)" }).joined(separator: "\n")
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let type = session.arguments.value("--type")
    if let type, !SwiftName.isType(type) {
      throw UsageError(
        "--type takes a name that Swift takes for an enum, such as AppMigrations, and \"\(type)\" is none.")
    }
    let folder = session.migrationsFolder
    try session.requireFolder(folder)
    return try await session.writing(to: folder) {
      let files = try GeneratedFiles(
        folder: folder, set: session.steps(in: folder), typeName: type,
        releasing: session.arguments.value("--released"))
      return try write(files)
    }
  }

  /// Writes what is not so already.
  /// - Throws: ``RefusedError`` where a released step is another.
  static func write(_ files: GeneratedFiles) throws -> EmbedReport {
    try files.releases.requireKept(in: files.set)
    var (written, unchanged): ([String], [String]) = ([], [])
    for file in files.contents() {
      let url = files.folder.appendingPathComponent(file.name)
      if FileManager.default.contents(atPath: url.path) == Data(file.text.utf8) {
        unchanged.append(url.path)
      } else {
        try Data(file.text.utf8).write(to: url, options: .atomic)
        written.append(url.path)
      }
    }
    return EmbedReport(written: written, unchanged: unchanged)
  }
}
