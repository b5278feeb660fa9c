// The `fetch` command: prints the objects of one entity while they are read.

import CipherSQLite
import Foundation
import ObjectVault

enum FetchCommand: Command {
  static let name = "fetch"
  static let summary = "Print the objects of an entity as a table, JSON or CSV"
  static let group = CommandGroup.look
  static let positionalCount = 2
  static let positionalNames = "STORE ENTITY"
  static let options =
    [
      Option.filter,
      Option(
        "--sort", value: "NAME[:desc],…",
        "attributes or paths through to-ones (user.name); objects with equal values are ordered",
        "by id, which is also the default"),
      Option("--limit", value: "N", "print at most N objects"),
      Option("--offset", value: "N", "skip the first N objects"),
      Option(
        "--after", value: "ID",
        "print the objects that come after the one with this id, in the order of --sort"),
      Option(
        "--columns", value: "NAME,…",
        "id, attributes, to-ones (as ids), paths through to-ones, _entity; default: all except",
        "paths; for _entity see INHERITANCE"),
      Option(
        "--group-by", value: "NAME,…",
        "print one row for each different value of an attribute, a to-one or a path: see GROUPS"),
      Option("--count", "the number of objects"),
      Option("--sum", value: "NAME,…", "the sums of these attributes; nil without values"),
      Option("--average", value: "NAME,…", "their averages"),
      Option("--minimum", value: "NAME,…", "their least values"),
      Option("--maximum", value: "NAME,…", "their greatest values"),
      Option(
        "--format", value: "FORMAT",
        "table (the default), json, lines, csv; --json prints json inside the tool's JSON object"),
      Option(
        "--nil", value: "TEXT",
        "the text for nil in CSV; a string with the same text is quoted"),
      Option(
        "--explain",
        "print what SQLite does for this fetch, and the indexes that would make it faster; no rows"),
    ] + Option.look
  static let help = """
    EXAMPLES
      store-migrate fetch notes.store Status
      store-migrate fetch notes.store Status --where "user.name == 'Binger' AND text CONTAINS 'Watch'"
      store-migrate fetch notes.store Status --sort createdAt:desc,text --limit 20
      store-migrate fetch notes.store Status --where "createdAt >= '2024-05-01' AND createdAt < '2024-06-01'"
      store-migrate fetch notes.store Status --columns id,text,user.name --format csv > statuses.csv

    GROUPS
      store-migrate fetch notes.store Status --group-by user.name --count --maximum createdAt
      With --group-by, each row is a group of objects: the values that they share, then the aggregates in the
      order --count, --sum, --average, --minimum, --maximum. nil is a value, too. Without --group-by, the
      aggregates are of all objects that are found; --sort, --limit and --offset choose them. With --group-by,
      --sort may only name what the objects are grouped by, and --limit and --offset count groups.

    DATES
      In --where, a date is a quoted text: '2024-05-01' (midnight UTC) or '2024-05-01T18:30:00Z'. An offset
      (+02:00) may replace Z. Seconds may have a fraction or be omitted.

    FORMATS
      table   aligned, cut to the width of the terminal; control characters are escaped, data is hexadecimal
      json    one array; decimals are strings, JSON attributes are nested JSON
      lines   the objects of json, one per line
      csv     RFC 4180; nil is an empty field, and an empty text is ""; in a one-column CSV, nil is also "",
              because readers skip empty lines
      In JSON and CSV, dates are ISO 8601 in UTC, and data is base64.

    INHERITANCE
      The result includes the objects of subentities. The column _entity, after the id, has the entity of each
      object. It is shown if the entity has subentities, or if --columns lists it. To see the properties that
      only a subentity has, fetch that entity.

    SLOW FETCHES
      --explain prints the statement, the steps of SQLite, and a warning for each step that is slow in a table
      of 1000 rows or more, with the line of a migration step that adds the missing index. Without --sort, the
      objects are in the order of their ids.

    Needs no migrations and no classes. Reads a snapshot of the store. Sorting without an index holds all
    found rows in memory; otherwise rows are read one by one. Ends without an error if the program that reads
    its output stops. The store does not change, and no new file remains.
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
    let groups = try groups(arguments)
    let after = try after(arguments, isGrouped: groups != nil)
    let inspection = try session.inspection()
    var request = try session.request().offset(offset)
    // Without a sort key, rows would come in the order of any index that covers the selected columns. Groups
    // are in the order of what they are grouped by.
    for key in keys.isEmpty && groups?.keys.isEmpty != false ? [("id", .forward)] : keys {
      request = request.sorted(byPath: key.path, key.order)
    }
    if let limit { request = request.limit(limit) }
    var rows = try StoreInfo(inspection.connection).rows(of: request, in: inspection.connection)
    if let columns { try rows.select(columns) }
    if let groups { try rows.group(by: groups.keys, groups.aggregates) }
    if arguments.has("--explain") { return try plan(rows, on: inspection.connection, with: arguments) }
    var writer = format.writer(
      rows.columns, to: session.rows, width: StandardStream.output.lineWidth,
      envelope: arguments.has("--json") ? name : nil, mark: mark ?? "")
    if let after {
      // Nothing is printed if there is no such object.
      let isThere = try rows.forEach(after: after, inspection.connection) {
        try writer.begin()
      } _: {
        try writer.write($0.row())
      }
      guard isThere else { throw UsageError("--after \(after): no \(session.positional(1)) has this id.") }
    } else {
      try writer.begin()
      try rows.forEach(inspection.connection) { try writer.write($0.row()) }
    }
    try writer.end()
    try session.rows.finish()
    return FetchReport()
  }

  /// Returns the id of `--after`; nil when the option is not given.
  private static func after(_ arguments: Arguments, isGrouped: Bool) throws -> Int64? {
    guard let text = arguments.value("--after") else { return nil }
    guard let id = Int64(text), id > 0 else {
      throw UsageError("--after takes the id of an object, such as 17, not \"\(text)\".")
    }
    guard !isGrouped else {
      throw UsageError("--after is for single objects: a group has no id. Remove it.")
    }
    for (option, isGiven) in [
      ("--offset", arguments.value("--offset") != nil), ("--explain", arguments.has("--explain")),
    ] where isGiven {
      throw UsageError("--after and \(option) exclude each other. Remove one of them.")
    }
    return id
  }

  /// Returns the groups that the options describe; nil when rows are printed.
  private static func groups(_ arguments: Arguments) throws -> (
    keys: [String], aggregates: [EntityRows.GroupColumn]
  )? {
    let keys = try names("--group-by", arguments)
    var aggregates: [EntityRows.GroupColumn] = []
    if arguments.has("--count") { aggregates.append(.init(.count)) }
    for (option, function) in [
      ("--sum", .sum), ("--average", .average), ("--minimum", .minimum), ("--maximum", .maximum),
    ] as [(String, EntityRows.GroupColumn.Function)] {
      aggregates += try (names(option, arguments) ?? []).map { .init(function, $0) }
    }
    guard keys != nil || !aggregates.isEmpty else { return nil }
    guard !aggregates.isEmpty else {
      throw UsageError(
        "--group-by needs --count, --sum, --average, --minimum or --maximum: what to print for each group.")
    }
    guard arguments.value("--columns") == nil else {
      throw UsageError(
        "--columns is for single objects. A group has the columns of --group-by and its aggregates.")
    }
    let columns = (keys ?? []) + aggregates.map(\.name)
    if let twice = columns.first(where: { name in columns.count { $0 == name } > 1 }) {
      throw UsageError("The column \(twice) is requested twice.")
    }
    return (keys ?? [], aggregates)
  }

  private static func format(_ arguments: Arguments) throws -> RowFormat {
    guard let name = arguments.value("--format") else { return arguments.has("--json") ? .json : .table }
    let names = RowFormat.allCases.map(\.rawValue)
    guard let format = RowFormat(rawValue: name) else {
      throw UsageError(
        "--format takes \(names.joined(separator: ", ")), not \"\(name)\".\(didYouMean(name, among: names))"
      )
    }
    guard format == .json || !arguments.has("--json") else {
      throw UsageError("--json and --format \(name) exclude each other. Remove one of them.")
    }
    return format
  }

  private static func nilMark(_ arguments: Arguments, _ format: RowFormat) throws -> String? {
    guard let mark = arguments.value("--nil") else { return nil }
    guard format == .csv else {
      throw UsageError("--nil is only for CSV. JSON has null, and a table shows nil as empty.")
    }
    guard !mark.utf8.contains(where: { [0x22, 0x2C, 0x0A, 0x0D].contains($0) }) else {
      throw UsageError("--nil takes a text without commas, quotation marks and line breaks.")
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
      throw UsageError(
        "\(option) takes a comma-separated list of names, but one name in \"\(text)\" is empty.")
    }
    return names
  }

  private static func sortKeys(_ arguments: Arguments) throws -> [(path: String, order: SortOrder)] {
    try (names("--sort", arguments) ?? []).map { key in
      let parts = key.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
      switch parts.dropFirst() {
      case [] where !parts[0].isEmpty, ["asc"] where !parts[0].isEmpty: return (parts[0], .forward)
      case ["desc"] where !parts[0].isEmpty: return (parts[0], .reverse)
      default:
        throw UsageError("--sort takes a list of NAME, NAME:asc or NAME:desc with commas, not \"\(key)\".")
      }
    }
  }
}

extension Session {
  /// Returns the request for the entity that the command line names, with the conditions of `--where`.
  func request() throws -> ObjectRequest<DynamicObject> {
    try arguments.all("--where").reduce(ObjectRequest(entity: positional(1))) { try $0.where($1) }
  }
}
