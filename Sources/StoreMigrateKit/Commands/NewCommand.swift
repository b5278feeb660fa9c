// new: the next file, with its number.

import Foundation
import ObjectVault

enum NewCommand: Command {
  static let name = "new"
  static let summary = "Create the next numbered file"
  static let group = CommandGroup.write
  static let positionalCount = 1
  static let positionalNames = "NAME"
  static let options = [Option.migrations]
  static let help = """
    EXAMPLES
      store-migrate new "add city"                 writes Migrations/0003_add_city.migration
      store-migrate new "add city" -m App/Migrations

    Needs no store and no key. Edit the file, then run: store-migrate embed
    """

  struct NewReport: Report {
    let file: String
    var description: String {
      "wrote \(file)\nWrite its operations below [up], then run: store-migrate embed"
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let words = session.positional(0).lowercased().split { !$0.isLetter && !$0.isNumber }
    guard !words.isEmpty else { throw UsageError("The name has no letter or digit in it.") }
    let name = words.joined(separator: "_")
    let folder = session.migrationsFolder
    if !FileManager.default.fileExists(atPath: folder.path) {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }
    let number = try MigrationSet.directory(folder).version + 1
    let file = folder.appendingPathComponent("\(numbered(number))_\(name).migration")
    let text = """
      format: 1
      name: \(name)

      [up]
      # add attribute User.city string optional indexed
      # rename attribute User.name -> fullName
      # add relationship Status.tags -> Tag many inverse Tag.statuses
      # transform sql { UPDATE $User SET $User.city = 'Berlin' }

      """
    try Data(text.utf8).write(to: file, options: .withoutOverwriting)
    return NewReport(file: file.path)
  }
}
