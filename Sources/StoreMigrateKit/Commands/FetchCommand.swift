// The `fetch` command: prints the objects of one entity while they are read.

import CipherSQLite
import Foundation
import ObjectVault

enum FetchCommand: Command {
  static let name = "fetch"
  static let summary = "Objects of an entity, as a table, JSON or CSV"
  static let group = CommandGroup.look
  static let positionalCount = 2
  static let positionalNames = "STORE ENTITY"
  static let options =
    [
      Option.filter,
      Option(
        "--sort", value: "NAME[:desc],…",
        "paths through to-ones as well (user.name); the id decides at last, and alone",
        "where nothing is said"),
      Option("--limit", value: "N", "at most so many objects"),
      Option("--offset", value: "N", "without the first so many"),
      Option(
        "--columns", value: "NAME,…",
        "id, attributes, to-ones (their ids), paths through to-ones, _entity; all but paths",
        "without it"),
      Option(
        "--format", value: "FORMAT",
        "table (the default), json, lines, csv; --json is json within the tool's object"),
      Option(
        "--nil", value: "TEXT",
        "what stands for nil in CSV; a text that is the same stands in quotation marks"),
    ] + Option.look
  static let help = """
    EXAMPLES
      store-migrate fetch notes.store Status
      store-migrate fetch notes.store Status --where "user.name == 'Binger' AND text CONTAINS 'Watch'"
      store-migrate fetch notes.store Status --sort createdAt:desc,text --limit 20
      store-migrate fetch notes.store Status --where "createdAt >= '2024-05-01' AND createdAt < '2024-06-01'"
      store-migrate fetch notes.store Status --columns id,text,user.name --format csv > statuses.csv

    DATES
      In --where a date is a text in quotes: '2024-05-01', which is midnight UTC, or '2024-05-01T18:30:00Z'; with an
      offset (+02:00) in the place of Z, a fraction behind the seconds, or without seconds.

    FORMATS
      table   aligned, control characters escaped, cut to the width of a terminal; data in hexadecimal digits
      json    one array; decimals are strings, JSON attributes what they are
      lines   the same, one object a line
      csv     RFC 4180; nil is an empty field and an empty text is "". Of one column both are "", because readers drop
              empty lines
      In JSON and CSV dates are ISO 8601 in UTC, data base64.

    ENTITIES THAT INHERIT
      Objects of the entities below are found as well. The column _entity, behind the id, says of which entity each is; it
      is there where the entity has others below it, and where --columns names it. What those below have beside is shown
      when they are fetched themselves.

    Needs no migrations and no classes. Reads one state of the store and holds none of it in memory, but for an order that
    no index serves, which sorts the rows that were found. Ends without a word when the reader of a pipe has enough.
    Changes no byte of the store, and leaves no file behind.
    """

  /// An empty report: the rows were printed while they were read.
  struct FetchReport: Report {
    var isData: Bool { true }
    var description: String { "" }
    var isWritten: Bool { true }
  }

  static func run(_ session: Session) async throws -> any Report {
    let arguments = session.arguments
    let format = try format(arguments)
    let columns = try names("--columns", arguments)
    if let columns, let twice = columns.first(where: { name in columns.count { $0 == name } > 1 }) {
      throw UsageError("--columns names \(twice) twice.")
    }
    let (limit, offset) = (try arguments.count("--limit"), try arguments.count("--offset") ?? 0)
    let (keys, mark) = (try sortKeys(arguments), try nilMark(arguments, format))
    let inspection = try session.inspection()
    var rows = try session.entityRows(inspection.connection)
    if let columns { try rows.select(columns) }
    // Without a sort key, rows would come in the order of any index that covers the selected columns.
    try rows.sort(keys.isEmpty ? [("id", false)] : keys)
    rows.window(limit: limit, offset: offset)
    var writer = format.writer(
      rows.columns, to: session.rows, width: StandardStream.output.lineWidth,
      envelope: arguments.has("--json") ? name : nil, mark: mark ?? "")
    try writer.begin()
    try rows.forEach(inspection.connection) { try writer.write($0.row()) }
    try writer.end()
    try session.rows.finish()
    return FetchReport()
  }

  private static func format(_ arguments: Arguments) throws -> RowFormat {
    guard let name = arguments.value("--format") else { return arguments.has("--json") ? .json : .table }
    let names = RowFormat.allCases.map(\.rawValue)
    guard let format = RowFormat(rawValue: name) else {
      throw UsageError(
        "--format takes \(names.joined(separator: ", ")), and \"\(name)\" is none.\(didYouMean(name, among: names))"
      )
    }
    guard format == .json || !arguments.has("--json") else {
      throw UsageError("--json and --format \(name) ask for two things. Leave one of them out.")
    }
    return format
  }

  private static func nilMark(_ arguments: Arguments, _ format: RowFormat) throws -> String? {
    guard let mark = arguments.value("--nil") else { return nil }
    guard format == .csv else {
      throw UsageError("--nil is for CSV; JSON has null, and in a table nil is empty.")
    }
    guard !mark.utf8.contains(where: { [0x22, 0x2C, 0x0A, 0x0D].contains($0) }) else {
      throw UsageError("--nil takes a text without commas, quotation marks and line ends.")
    }
    return mark
  }

  /// Returns the comma-separated names of an option; nil when the option is not given.
  /// - Throws: ``UsageError`` when one of the names is empty.
  private static func names(_ option: String, _ arguments: Arguments) throws -> [String]? {
    guard let text = arguments.value(option) else { return nil }
    let names = text.split(separator: ",", omittingEmptySubsequences: false).map {
      $0.trimmingCharacters(in: .whitespaces)
    }
    guard !names.contains("") else {
      throw UsageError("\(option) takes names with commas between, and one of \"\(text)\" is empty.")
    }
    return names
  }

  private static func sortKeys(_ arguments: Arguments) throws -> [(path: String, isDescending: Bool)] {
    try (names("--sort", arguments) ?? []).map { key in
      let parts = key.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
      switch parts.dropFirst() {
      case [] where !parts[0].isEmpty, ["asc"] where !parts[0].isEmpty: return (parts[0], false)
      case ["desc"] where !parts[0].isEmpty: return (parts[0], true)
      default:
        throw UsageError("--sort takes NAME, NAME:asc or NAME:desc, with commas between; \"\(key)\" is none.")
      }
    }
  }
}

extension Session {
  /// Returns the query for the entity that the command line names, with the conditions of `--where`.
  func entityRows(_ connection: Connection) throws -> EntityRows {
    var rows = try StoreInfo(connection).rows(of: positional(1), in: connection)
    for condition in arguments.all("--where") { try rows.filter(condition) }
    return rows
  }
}
