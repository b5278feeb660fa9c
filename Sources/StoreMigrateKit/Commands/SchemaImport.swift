// `schema import`: writes the first step and the classes for the tables of another program's file.

import CipherSQLite
import Foundation
import ObjectVault
import VaultAuthoring

enum SchemaImport {
  static let classes = Option(
    "--classes", value: "FILE", "import: the file for the Swift classes; default: ./Adopted.swift")
  static let toOne = Option(
    "--to-one", value: "NAME=ENTITY", isList: true,
    "import: Note.owner=Person reads Note.owner as a to-one to Person; Note.rank= (nothing",
    "after the =) keeps Note.rank as a plain number; repeatable")
  static let action = CommandAction(
    name: "import", count: 1,
    options: [Option.migrations, classes, toOne, .cipher, .lockTimeout] + Option.key)

  struct ImportReport: Report {
    let file: String
    let origin: Adoption.Origin
    let tables: [Adoption.Table]
    let notes: [String]
    let losses: [AdoptionLoss]
    let obstacles: [String]
    let written: [String]
    /// Whether the written files replaced those of an earlier import.
    let isReplaced: Bool
    /// The command line that imports the rows; empty when `baseline` would refuse them.
    let next: [String]

    private enum CodingKeys: String, CodingKey {
      case file, origin, tables, notes, losses, obstacles, written, isReplaced, next
    }

    var exitCode: ExitCode { losses.isEmpty && obstacles.isEmpty ? .ok : .attention }

    var description: String {
      let taken = counted(Set(tables.map(\.source)).count, "table")
      var lines =
        ["\(file): \(origin == .coreData ? "made by Core Data or SwiftData; " : "")\(taken) included"]
        + tableLines(tables)
      lines +=
        notes.map { "? \($0)" } + losses.map { "LOSES \($0)" } + obstacles.map { "CANNOT be imported: \($0)" }
      lines += written.map { "\(isReplaced ? "replaced" : "wrote") \($0)" }
      lines.append(
        next.first.map { "Review the files. Then import the rows: \($0)" }
          ?? "The command baseline, which imports the rows, would refuse this file. In a copy of "
          + "\(file), fix what cannot be imported, and import that copy."
      )
      return lines.joined(separator: "\n")
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let words = session.arguments.positional
    guard words.count == 3 else {
      throw UsageError("schema import takes one file. \(ToolLine.help(SchemaCommand.name))")
    }
    let (file, folder) = (words[2], session.migrationsFolder)
    let classes = URL(fileURLWithPath: session.arguments.value("--classes") ?? "Adopted.swift")
    return try await session.writing(to: folder, makes: true) {
      try await run(session, of: file, into: folder, classes: classes)
    }
  }

  private static func run(
    _ session: Session, of file: String, into folder: URL, classes: URL
  ) async throws -> ImportReport {
    let former = EarlierImport(folder: folder, classes: classes, source: file)
    try former.check()
    let isReplaced = former.exists
    let adoption = try await Store.planAdoption(
      of: URL(fileURLWithPath: file), key: try session.keyOfForeignFile(file), profile: session.profile(),
      relationships: session.toOnes(), busyTimeout: session.lockTimeout())
    let rendered = adoption.schema.rendered(as: .swift)
    let step = folder.appendingPathComponent(adoption.step.fileName)
    try former.check(classes: rendered.text)
    try former.write(text(adoption, of: file), classes: rendered.text)
    return ImportReport(
      file: file, origin: adoption.origin, tables: adoption.tables,
      notes: adoption.notes.map(toolText) + rendered.notes,
      losses: adoption.losses, obstacles: adoption.obstacles, written: [step.path, classes.path],
      isReplaced: isReplaced,
      next: adoption.obstacles.isEmpty
        ? [session.baselineCommandLine(for: file, to: 1, losses: adoption.losses)] : [])
  }

  /// Returns the text of the step. Comments before `[up]` list the source of each table, and what is
  /// lost.
  private static func text(_ adoption: Adoption, of file: String) -> String {
    let name = URL(fileURLWithPath: file).lastPathComponent
    let notes = adoption.notes.map(toolText)
    let remarks =
      ["The tables of \(name), as store-migrate schema import found them."]
      + adoption.tables.map { "\($0.source) -> \($0.target), \(counted($0.rows, "row"))" } + notes
      + adoption.losses.map { "LOSES \($0)" } + adoption.obstacles.map { "CANNOT be imported: \($0)" }
    let lines = remarks.map { "# " + $0.split(whereSeparator: \.isNewline).joined(separator: " ") }
    return adoption.step.text.replacingOccurrences(
      of: "\n[up]\n", with: "\n" + lines.joined(separator: "\n") + "\n\n[up]\n")
  }

  /// Returns a note of the library in the words of the tool, which has the option `--to-one` in place of
  /// the parameter `relationships`.
  private static func toolText(_ note: String) -> String {
    note.replacing(#/relationships: \["([^"]*)": "([^"]*)"\]/#) { match in
      "\(toOne.name) \(match.1)=\(match.2)"
    }
  }

  /// Returns a line for each table, with its number of rows.
  static func tableLines(_ tables: [Adoption.Table]) -> [String] {
    let widths = (CellWidth.widest(tables.map(\.source)), CellWidth.widest(tables.map(\.target)))
    return tables.map {
      "  \(padded($0.source, widths.0)) -> \(padded($0.target, widths.1))  \($0.rows) \($0.rows == 1 ? "row" : "rows")"
    }
  }
}

extension Session {
  /// Returns the key of another program's file; nil, without a prompt, for an empty or
  /// unencrypted file.
  func keyOfForeignFile(_ path: String) throws -> Key? {
    try requireThere(path)
    let isEmpty = (try? DatabasePath(path))?.byteCount == 0
    if try isEmpty && profile()?.clearHeaderBytes ?? 0 == 0 || isPlainFile(path) { return nil }
    return try KeySource(arguments: arguments, prefix: "key", standardError: standardError, warn: warn).read(
      for: path)
  }

  /// Returns whether a file is an unencrypted SQLite file. An encrypted file begins with the same bytes
  /// when the cipher settings leave its header in clear.
  func isPlainFile(_ path: String) throws -> Bool {
    // Excludes pipes, which have no size: reading one would block.
    guard (try? DatabasePath(path))?.byteCount ?? 0 >= 16 else { return false }
    let head = (try? FileHandle(forReadingFrom: URL(fileURLWithPath: path)).read(upToCount: 16)) ?? Data()
    return try head == Data("SQLite format 3\0".utf8) && profile()?.clearHeaderBytes ?? 0 == 0
  }

  /// Returns the columns that `--to-one` lists: for each path the target entity of the to-one, or an
  /// empty text for a plain number.
  /// - Throws: ``UsageError`` for a text of another form.
  func toOnes() throws -> [String: String] {
    try Dictionary(
      arguments.all("--to-one").map { text in
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(
          String.init)
        guard parts.count == 2, parts[0].contains(".") else {
          throw UsageError(
            "--to-one takes a value such as Note.owner=Person, or Note.rank= for a plain number, not "
              + "\"\(text)\".")
        }
        return (parts[0], parts[1])
      }, uniquingKeysWith: { $1 })
  }
}
