// The `schema` command: prints the model of the steps, or of a store, in one of several languages.
// `schema import` is in SchemaImport.swift.

import CipherSQLite
import Foundation
import ObjectVault
import VaultAuthoring

enum SchemaCommand: Command {
  static let name = "schema"
  static let summary = "The model of the steps or of a store, as SQL, JSON, Swift or a diagram"
  static let group = CommandGroup.write
  // STORE is omitted for the model of the steps; `run` checks the count.
  static let positionalCount = -1
  static let positionalNames = "[STORE | import FILE]"
  private static let engine = Option(
    "--engine", value: "VERSION",
    "for sql: the SQLite of the engine, such as 3.15.2 (SQLCipher 3.4.1);",
    "the tables are the same for all")
  static let options =
    [
      Option.migrations,
      Option("--format", value: "FORMAT", "sql (the default), json, swift or mermaid"),
      Option("--to", value: "N", "the model after step N; default the last one"), engine,
      SchemaImport.classes, SchemaImport.toOne,
    ] + Option.look
  static let actions = [SchemaImport.action]
  static let help = """
    EXAMPLES
      store-migrate schema                                  the tables that the steps make, as SQL
      store-migrate schema --format swift > Model.swift     classes that have the model of the steps
      store-migrate schema --format mermaid --to 3          a diagram of the model after step 3
      store-migrate schema notes.store --format json        the model that a store has
      store-migrate schema import legacy.db                 the first step and the classes, of another program's file

    The model of the steps needs no store and no key; that of a store is what the store itself says, whatever its steps.
    The JSON is that of schema.json without its first key, and equal for equal models. The classes are those that the
    library declares entities with; they compile, and their schema is the model. What a language cannot say is told on
    standard error.

    import looks at the tables of a SQLite or SQLCipher file, also of Core Data or SwiftData, and writes the first step
    into the folder of the steps, which has none yet, and the classes. Rules, views and the like that a model has no word
    for are named; rows that have no place, as of a table WITHOUT ROWID, make it end with 2. Nothing of the file changes;
    baseline takes the rows. A second import of the same file, as with --to-one, replaces what the first one wrote as long
    as nobody has edited it and no release has it. A store that is called import is ./import.
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
      throw UsageError("\(own.name) belongs to schema import. \(ToolLine.help(name))")
    }
    guard arguments.positional.count <= 2 else {
      throw UsageError(
        "schema takes one store or none."
          + "\(didYouMean(arguments.positional[1], among: actions.map(\.name))) \(ToolLine.help(name))")
    }
    let word = arguments.value("--format") ?? "sql"
    guard let format = SchemaFormat(rawValue: word) else {
      let names = SchemaFormat.allCases.map(\.rawValue)
      throw UsageError(
        "--format takes one of \(names.joined(separator: ", ")), and \"\(word)\" is none."
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
        throw UsageError("--to is for the model of the steps. A store has its own; leave one of them out.")
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
    guard format == .sql else { throw UsageError("--engine is for --format sql.") }
    guard let engine = Engine(sqliteVersion: text) else {
      throw UsageError("--engine takes a version of SQLite, such as 3.15.2, and \"\(text)\" is none.")
    }
    return engine
  }
}
