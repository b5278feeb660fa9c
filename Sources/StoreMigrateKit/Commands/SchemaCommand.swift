// The `schema` command: prints the model of the steps, or of a store, in one of several languages.
// `schema import` is in SchemaImport.swift.

import CipherSQLite
import Foundation
import ObjectVault
import VaultAuthoring

enum SchemaCommand: Command {
  static let name = "schema"
  static let summary = "Print the model of the steps or of a store as SQL, JSON, Swift or a diagram"
  static let group = CommandGroup.write
  // STORE is omitted for the model of the steps; `run` checks the count.
  static let positionalCount = -1
  static let positionalNames = "[STORE | import FILE]"
  private static let engine = Option(
    "--engine", value: "VERSION",
    "for sql: the SQLite version to write for, such as 3.15.2 (SQLCipher 3.4.1);",
    "the tables are the same for all versions")
  static let options =
    [
      Option.migrations,
      Option("--format", value: "FORMAT", "sql (the default), json, swift or mermaid"),
      Option("--to", value: "N", "the model after step N; default: the last one"), engine,
      SchemaImport.classes, SchemaImport.toOne,
    ] + Option.look
  static let actions = [SchemaImport.action]
  static let help = """
    EXAMPLES
      store-migrate schema                                  the tables that the steps make, as SQL
      store-migrate schema --format swift > Model.swift     classes that have the model of the steps
      store-migrate schema --format mermaid --to 3          a diagram of the model after step 3
      store-migrate schema notes.store --format json        the model that a store has
      store-migrate schema import legacy.db                 import another program's file

    The model of the steps needs no store and no key. The model of a store is read from the store itself,
    independent of its steps. The JSON is that of schema.json without the first key, which marks that file as
    generated; equal models give equal JSON. The Swift classes declare the entities; they compile, and have
    exactly this model. What a format cannot express is reported on standard error.

    `import` reads the tables of an SQLite or SQLCipher file, also of Core Data or SwiftData. It writes the
    classes, and the first step into the folder of the steps, which must contain no other steps. It lists rules,
    views and other objects that a model cannot contain. It ends with 2 if rows have no place in a store, such
    as those of a table WITHOUT ROWID, or if `baseline` would refuse the file. The file does not change;
    `baseline` imports the rows. A second import of the same file, for example with --to-one, replaces the files
    of the first import if they are unedited and unreleased. If a store is called import, write ./import.
    """

  struct SchemaReport: Report {
    var isData: Bool { true }
    let language: String
    let model: String
    let notes: [String]
    let text: String
    var description: String { text.hasSuffix("\n") ? String(text.dropLast()) : text }
  }

  static func run(_ session: Session) async throws -> any Report {
    let arguments = session.arguments
    if arguments.positional.dropFirst().first == SchemaImport.action.name {
      return try await SchemaImport.run(session)
    }
    if let own = [SchemaImport.classes, SchemaImport.toOne].first(where: { arguments.value($0.name) != nil })
    {
      throw UsageError("\(own.name) is only for schema import. \(ToolLine.help(name))")
    }
    guard arguments.positional.count <= 2 else {
      throw UsageError(
        "schema takes at most one store."
          + "\(didYouMean(arguments.positional[1], among: actions.map(\.name))) \(ToolLine.help(name))")
    }
    let word = arguments.value("--format") ?? "sql"
    guard let format = SchemaFormat(rawValue: word) else {
      let names = SchemaFormat.allCases.map(\.rawValue)
      throw UsageError(
        "--format takes \(names.joined(separator: ", ")), not \"\(word)\"."
          + didYouMean(word, among: names))
    }
    let engine = try engine(session, format)
    let (schema, name) = try model(session)
    let rendered = schema.rendered(as: format)
    if !arguments.has("--json"), !arguments.has("--quiet") {
      for note in rendered.notes { session.standardError("store-migrate: \(note)") }
    }
    let head = format == .sql ? "-- \(name)\(engine.map { ", for SQLite \($0.sqliteVersion)" } ?? "").\n" : ""
    return SchemaReport(
      language: format.rawValue, model: schema.meaningHash, notes: rendered.notes, text: head + rendered.text)
  }

  private static func model(_ session: Session) throws -> (Schema, String) {
    guard session.arguments.positional.count == 1 else {
      guard session.arguments.value("--to") == nil else {
        throw UsageError("--to is only for the model of the steps. Remove --to or the store.")
      }
      let inspection = try session.inspection()
      let info = try StoreInfo(inspection.connection)
      return (info.model, "\(session.storePath) at version \(info.version)")
    }
    let set = try session.authored()
    let version = try session.target(of: set, isFresh: true) ?? set.version
    return (try set.model(at: version), "The model after step \(version)")
  }

  private static func engine(_ session: Session, _ format: SchemaFormat) throws -> Engine? {
    guard let text = session.arguments.value("--engine") else { return nil }
    guard format == .sql else { throw UsageError("--engine is only for --format sql.") }
    guard let engine = Engine(sqliteVersion: text) else {
      throw UsageError("--engine takes an SQLite version such as 3.15.2, not \"\(text)\".")
    }
    return engine
  }
}
