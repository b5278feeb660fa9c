// The `new` command: creates the next numbered step file. An app's own tool can fill it with the
// operations that turn the steps' model into that of its classes.

import CipherSQLite
import Foundation
import ObjectVault

enum NewCommand: Command {
  static let name = "new"
  static let summary = "Create the next numbered step file"
  static let group = CommandGroup.write
  static let positionalCount = 1
  static let positionalNames = "NAME"
  static let options = [
    Option.migrations,
    Option("--from-model", "add the operations that turn the steps' model into the app's classes"),
    Option.rename, Option.noRename,
  ]
  static let aliases = ["add", "generate"]
  static let help = """
    EXAMPLES
      store-migrate new "add city"                 writes Migrations/0003_add_city.migration
      store-migrate new "add city" -m App/Migrations
      app-migrate   new "full name" --from-model --rename User.name=fullName

    Needs no store and no key. Edit the new file, then run: store-migrate embed

    app-migrate is your app's own build of this tool, with the app's classes inside; see "Building a tool with
    your steps inside" in the documentation. --from-model needs such a tool, and writes the missing operations,
    their losses, and notes for the review. If a change may be either a renaming or a removal with an addition, the
    tool does not guess: it ends with 5 and lists the --rename and --no-rename options to choose from.
    """

  struct NewReport: Report {
    let file: String
    let operations: [String]
    let losses: [String]
    /// The losses as the screen shows them.
    let lossTexts: [String]
    let notes: [String]
    /// The command line to run next.
    let next: [String]

    private enum CodingKeys: String, CodingKey { case file, operations, losses, notes, next }

    var description: String {
      var lines = ["wrote \(file)"] + operations.map { "  · \(brief($0))" }
      lines += lossTexts.map { "  LOSES \($0)" } + notes.map { "  ? \($0)" }
      let advice =
        operations.isEmpty ? "Write its operations below [up], then run: " : "Review it, then run: "
      lines += next.map { advice + $0 }
      return lines.joined(separator: "\n")
    }
  }

  /// The longest name, in UTF-8 bytes: what file systems accept, less the number, the extension, and the
  /// suffix of a file that is being written.
  private static let longestName = 200

  static func run(_ session: Session) async throws -> any Report {
    let words = session.positional(0).lowercased().split { !$0.isLetter && !$0.isNumber }
    guard !words.isEmpty else { throw UsageError("The name needs at least one letter or digit.") }
    let name = words.joined(separator: "_").precomposedStringWithCanonicalMapping
    guard name.utf8.count <= longestName else {
      throw UsageError(
        "The name is too long for a file name: it has \(name.utf8.count) bytes; the limit is \(longestName).")
    }
    let folder = session.migrationsFolder
    // In a wrong folder, all classes would count as new.
    if session.arguments.has("--from-model"), session.bundled.set?.version ?? 0 > 0 {
      try session.requireFolder(folder)
    }
    return try await session.writing(to: folder, makes: true) { try write(name, to: folder, session) }
  }

  private static func write(_ name: String, to folder: URL, _ session: Session) throws -> NewReport {
    let set = try session.steps(in: folder)
    let proposal = session.arguments.has("--from-model") ? try session.proposal(set) : nil
    if let proposal, proposal.operations.isEmpty {
      throw RefusedError(
        code: .failed,
        description: "The steps of \(folder.path) already match the classes: there is nothing to write.")
    }
    if proposal == nil, !Set(session.arguments.given).isDisjoint(with: ["--rename", "--no-rename"]) {
      throw UsageError("--rename and --no-rename need --from-model.")
    }
    let file = folder.appendingPathComponent("\(numbered(set.version + 1))_\(name).migration")
    let text = proposal.map { self.text(name, $0) } ?? empty(name)
    try TextFile.create(Array(text.utf8), at: file.path)
    return NewReport(
      file: file.path, operations: proposal?.operations.map(\.summary) ?? [],
      losses: proposal?.losses ?? [], lossTexts: proposal?.lossTexts ?? [],
      notes: proposal?.notesWithOptions ?? [],
      next: [session.offer(EmbedCommand.self, [])])
  }

  private static func empty(_ name: String) -> String {
    """
    format: 1
    name: \(name)

    [up]
    # add attribute User.city string optional indexed
    # rename attribute User.name -> fullName
    # add relationship Status.tags -> Tag many inverse Tag.statuses
    # transform sql { UPDATE $User SET $User.city = 'Berlin' }

    """
  }

  private static func text(_ name: String, _ proposal: MigrationProposal) -> String {
    var lines = ["format: 1", "name: \(name)"]
    if !proposal.losses.isEmpty {
      lines += proposal.lossTexts.filter { !proposal.losses.contains($0) }
        .map { "# Permanently lost: \($0)." }
      // Commented out, because a reviewer has to allow the loss, not a tool.
      lines.append("# This step loses data. If that is intended, remove the # of the next line.")
      lines.append("# allow: \(proposal.losses.map { "lossy:\($0)" }.joined(separator: ", "))")
    }
    lines.append("")
    lines += proposal.notesWithOptions.map { "# \($0.replacing("\n", with: " "))" }
    return (lines + ["[up]"] + proposal.lines + [""]).joined(separator: "\n")
  }
}

extension MigrationProposal {
  /// The notes, with the options that settle them.
  var notesWithOptions: [String] { remarks + doneHints.map { "\($0.note): --rename \($0.renaming)" } }
}

extension Option {
  static let rename = Option(
    "--rename", value: "OLD=NEW", isList: true,
    "what was renamed: User.name=fullName, or User=Person; repeatable")
  static let noRename = Option(
    "--no-rename", value: "OLD", isList: true, isValueOptional: true,
    "what was removed and not renamed: User.name, or User; repeatable; without a name: all",
    "that looks like a renaming")
}

extension Session {
  /// Returns the steps that are being written: those of the folder, if there is one, because the steps in
  /// the tool are those of its last build.
  func authored() throws -> MigrationSet {
    FileManager.default.fileExists(atPath: migrationsFolder.path)
      ? try steps(in: migrationsFolder) : try migrations()
  }

  /// Returns the operations that turn the steps' model into that of the app's classes.
  /// - Throws: ``UsageError`` in a tool without classes, and for an invalid renaming; ``RefusedError``
  ///   when the command line does not settle what is a renaming.
  func proposal(_ set: MigrationSet) throws -> MigrationProposal {
    let proposal = try proposedOperations(set)
    let doubts = try doubts(in: proposal)
    guard doubts.isEmpty else {
      throw RefusedError(
        code: .refused,
        description:
          "A removal and an addition may be a renaming. Choose an option for each:\n"
          + answers(to: doubts).map { "  \($0)" }.joined(separator: "\n")
          + "\nIf none is a renaming, use --no-rename without a name. Nothing was written.")
    }
    return proposal
  }

  /// Returns the possible renamings that the command line neither confirms nor denies.
  /// - Throws: ``UsageError`` for a `--no-rename` of a name that is not in doubt.
  func doubts(in proposal: MigrationProposal) throws -> [MigrationRenaming] {
    let denied = arguments.all("--no-rename")
    for name in denied where !proposal.doubts.contains(where: { $0.isOf(name) }) {
      let names = Set(proposal.doubts.map(\.oldPath)).sorted()
      throw UsageError(
        "--no-rename \(name): no removal with this name looks like a renaming."
          + didYouMean(name, among: names)
          + (names.isEmpty ? " Remove the option." : " Undecided: \(names.joined(separator: ", "))."))
    }
    guard !arguments.has("--no-rename") else { return [] }
    return proposal.doubts.filter { doubt in !denied.contains(where: doubt.isOf) }
  }

  /// Returns the options that settle these doubts: one text for each old name, with all its possible new
  /// names.
  func answers(to doubts: [MigrationRenaming]) -> [String] {
    var names: [String] = []
    for doubt in doubts where !names.contains(doubt.oldPath) { names.append(doubt.oldPath) }
    return names.map { name in
      let renamings = doubts.filter { $0.oldPath == name }.map { "--rename \($0)" }
      return (renamings + ["or --no-rename \(name)"]).joined(separator: ", ")
    }
  }

  /// Returns the operations that turn the steps' model into that of the app's classes, even when it is in
  /// doubt whether some of them are a renaming.
  func proposedOperations(_ set: MigrationSet) throws -> MigrationProposal {
    let (model, renaming) = (try requiredModel(), try renaming())
    for case .entity(let name, let new) in renaming {
      try requireEntities(name, renamedTo: new, migrations: set, model: model)
    }
    return try set.proposal(for: model, renaming: renaming)
  }

  /// Checks that a renaming of entities does not name properties.
  /// - Throws: ``UsageError`` when no entity has either name, but the properties of one entity do: the
  ///   old name in the steps, and the new one in the classes.
  private func requireEntities(
    _ name: String, renamedTo new: String, migrations set: MigrationSet, model: Schema
  ) throws {
    let former = try set.model(at: set.version)
    guard former.entity(named: name) == nil, model.entity(named: new) == nil else { return }
    let forms = model.entities.filter { entity in
      entity.ownNames.contains(new) && former.entity(named: entity.name)?.ownNames.contains(name) == true
    }.map { "--rename \($0.name).\(name)=\(new)" }
    guard !forms.isEmpty else { return }
    throw UsageError(
      "--rename \(name)=\(new) is the form for entities, but no entity has these names. For a property, "
        + "add the entity: \(forms.joined(separator: ", or ")).")
  }

  /// Returns the renamings that `--rename` lists.
  /// - Throws: ``UsageError`` for a text that is not a renaming.
  func renaming() throws -> [MigrationRenaming] {
    try arguments.all("--rename").map { text in
      guard let renaming = MigrationRenaming(text) else {
        throw UsageError("--rename takes a value such as User.name=fullName or User=Person, not \"\(text)\".")
      }
      return renaming
    }
  }

  /// Returns the classes that the tool was built with.
  /// - Throws: ``UsageError`` when it was built without any.
  func requiredModel() throws -> Schema {
    guard let model else {
      throw UsageError(
        "\(arguments.has("--from-model") ? "--from-model" : "This command") needs the app's own tool, whose "
          + "main function calls StoreMigrate.start(embedded: AppMigrations.steps, model: AppModel.schema). "
          + "See \"Building a tool with your steps inside\" in the documentation.")
    }
    return model
  }
}

extension EntityDescription {
  /// The names of the entity's own attributes and relationships.
  fileprivate var ownNames: [String] { attributes.map(\.name) + relationships.map(\.name) }
}

extension MigrationRenaming {
  /// Returns whether the renaming has this old name: `User`, or `User.name`.
  fileprivate func isOf(_ name: String) -> Bool { oldPath == name }
}
