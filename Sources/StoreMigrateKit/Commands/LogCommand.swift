// The `log` command: prints the history of a store's objects, and purges it.

import CipherSQLite
import Foundation
import ObjectVault

enum LogCommand: Command {
  static let name = "log"
  static let summary = "Print who changed which objects and when, in stores with a history"
  static let group = CommandGroup.look
  static let positionalCount = 1
  static let options =
    [
      Option("--entity", value: "NAME", "only changes of this entity and its subentities"),
      Option("--object", value: "ID", "only changes of the object with this id; with --entity"),
      Option("--property", value: "NAME", "only changes of this property; with --entity"),
      Option("--author", value: "NAME", "only transactions of this author"),
      Option("--since", value: "N", "only transactions after the one with this number"),
      Option("--limit", value: "N", "print at most N transactions, 0 for all; default: 20"),
      Option("--values", "print values, too; they may be secret"),
      Option("--purge", "delete the oldest transactions instead, by one of --newest, --before, --through"),
      Option("--newest", value: "N", "keep the N newest transactions"),
      Option("--before", value: "DATE", "delete those before a date, such as 2026-05-01"),
      Option("--through", value: "N", "delete those up to the one with this number"),
      Option.yes,
    ] + Option.look
  static let help = """
    EXAMPLES
      store-migrate log notes.store
      store-migrate log notes.store --entity Note --object 17 --values
      store-migrate log notes.store --since 4711 --limit 0 --json
      store-migrate log notes.store --purge --newest 10000 --yes

    Prints the newest transaction first: its number, time, author and name, and the objects that it inserted,
    updated or deleted. A store has a history of the entities whose model says so (set history of NAME to full).
    A migration step is a transaction of its own. Needs no migrations and no classes. Without --purge, the store
    does not change, and no new file remains. A program whose token is older than a purge has to read all
    objects again.
    """

  // MARK: Reports

  struct Line: Encodable {
    let number: Int64
    let date: String
    let author: String?
    let name: String?
    let kind: String
    let step: Int?
    let version: Int
    let inserted: [Item]
    let updated: [Item]
    let deleted: [Item]
    let linked: [ChangeSet.Link]
    let unlinked: [ChangeSet.Link]
    let placed: [ChangeSet.Placement]
    /// The entities whose changes are unknown.
    let unknown: [String]

    struct Item: Encodable {
      let entity: String
      let id: Int64
      let properties: [String]?
      let old: [String: StoredValue]?
      let new: [String: StoredValue]?
    }

    /// A value as it is stored: dates are seconds from 2001-01-01; data is base64.
    struct StoredValue: Encodable {
      let value: SQLValue

      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch value {
        case .null: try container.encodeNil()
        case .integer(let number): try container.encode(number)
        // JSON has no infinite numbers.
        case .real(let number) where !number.isFinite: try container.encode("\(number)")
        case .real(let number): try container.encode(number)
        case .text(let text): try container.encode(text)
        case .blob(let data): try container.encode(data)
        }
      }
    }

    init(_ transaction: HistoryTransaction, showsValues: Bool) {
      let changes = transaction.changes
      func shown(_ values: ChangeSet.Values) -> [String: StoredValue]? {
        showsValues ? values.mapValues(StoredValue.init) : nil
      }
      (number, date) = (transaction.token.sequence, transaction.date.formatted(.iso8601))
      (author, name, version) = (transaction.author, transaction.name, transaction.modelVersion)
      switch transaction.kind {
      case .changes: (kind, step) = ("changes", nil)
      case .step(let number): (kind, step) = ("step", number)
      case .rollback(let number): (kind, step) = ("rollback", number)
      }
      inserted = changes.inserted.map {
        Item(entity: $0.entity, id: $0.rowID, properties: nil, old: nil, new: shown($0.values))
      }
      updated = changes.updated.map {
        Item(
          entity: $0.entity, id: $0.rowID, properties: $0.properties, old: shown($0.old), new: shown($0.new))
      }
      deleted = changes.deleted.map {
        Item(entity: $0.entity, id: $0.rowID, properties: nil, old: shown($0.values), new: nil)
      }
      (linked, unlinked, placed) = (changes.linked, changes.unlinked, changes.placed)
      unknown = changes.changedBySQL
    }
  }

  struct LogReport: Report {
    var isData: Bool { true }
    let transactions: [Line]
    /// Whether there are older transactions that the limit has left out.
    let hasMore: Bool
    let text: [String]
    /// Why the list may be shorter than expected; nil if there is no reason.
    let note: String?

    private enum CodingKeys: String, CodingKey { case transactions, hasMore }

    var description: String {
      let text = (note.map { [$0] + (self.text.isEmpty ? [] : [""]) } ?? []) + self.text
      guard !text.isEmpty else { return "There are no such transactions." }
      let more =
        hasMore ? ["", "There are older transactions: --limit \(transactions.count * 5), or --limit 0."] : []
      return (text + more).joined(separator: "\n")
    }
  }

  struct PurgeReport: Report {
    let store: StoreSummary
    let purged: Int
    var description: String {
      purged == 0
        ? "\(store.path): there are no such transactions. Nothing was deleted."
        : "\(store.path): \(purged) \(purged == 1 ? "transaction was" : "transactions were") deleted from the "
          + "history. No object was changed."
    }
  }

  // MARK: Running

  static func run(_ session: Session) async throws -> any Report {
    let arguments = session.arguments
    let extent = try extent(arguments)
    if arguments.has("--purge") {
      for option in [
        "--entity", "--object", "--property", "--author", "--since", "--limit", "--values",
      ]
      where arguments.has(option) || arguments.value(option) != nil {
        throw UsageError(
          "--purge deletes the oldest transactions of all entities and authors. Remove \(option).")
      }
      guard !arguments.has("--immutable") else {
        throw UsageError("--purge writes to the file. Remove --immutable.")
      }
      guard let extent else {
        throw UsageError("--purge needs one of --newest N, --before DATE, --through N: what to delete.")
      }
      return try await purge(session, extent)
    }
    guard extent == nil else {
      throw UsageError(
        "--newest, --before and --through say what --purge deletes. Add --purge, or remove them.")
    }
    let (limit, showsValues) = (try arguments.count("--limit") ?? 20, arguments.has("--values"))
    let request = try request(arguments)
    let since = try number("--since", arguments)
    let inspection = try session.inspection()
    let info = try StoreInfo(inspection.connection)
    try info.requireKnownFormat(file: session.storePath)
    let reader = try history(inspection)
    var (lines, text, hasMore): ([Line], [String], Bool) = ([], [], false)
    let whole = request.since(try since.map { try token($0, reader) })
    try reader.transactions(whole, in: info.model) { transaction in
      if limit > 0, lines.count == limit {
        hasMore = true
        return false
      }
      lines.append(Line(transaction, showsValues: showsValues))
      text += (text.isEmpty ? [] : [""]) + screen(transaction, showsValues: showsValues)
      return true
    }
    let note = note(for: arguments.value("--entity"), in: info.model, reader, isEmpty: text.isEmpty)
    return LogReport(transactions: lines, hasMore: hasMore, text: text, note: note)
  }

  /// Returns why a list may lack what was expected.
  private static func note(
    for entity: String?, in model: Schema, _ reader: HistoryReader, isEmpty: Bool
  ) -> String? {
    if let entity, let description = model.entity(named: entity), model.flattened(description).history == nil
    {
      return "\(entity) keeps no history, so only steps are listed. A step can begin one: set history of "
        + "\(entity) to full."
    }
    guard isEmpty, let purged = reader.purged else { return nil }
    return "There are no such transactions. Those up to #\(purged) were purged."
  }

  private static func history(_ inspection: Inspection) throws -> HistoryReader {
    guard let reader = try HistoryReader(inspection.connection) else {
      throw RefusedError(
        code: .refused,
        description:
          "\(inspection.connection.path) has no history. A step can begin one: set history of NAME to "
          + "full. Nothing was changed.")
    }
    return reader
  }

  private static func screen(_ transaction: HistoryTransaction, showsValues: Bool) -> [String] {
    let who = [transaction.author.map(line), transaction.name.map { "\"\(line($0))\"" }].compactMap { $0 }
    let kind =
      switch transaction.kind {
      case .changes: ""
      case .step: "  migration step"
      case .rollback: "  rollback of a migration step"
      }
    let changes = transaction.changes
    let lines = (showsValues ? changes.descriptionWithValues : changes.description).split(separator: "\n")
    return [
      "#\(transaction.token)  \(transaction.date.formatted(.iso8601))\(kind)"
        + (who.isEmpty ? "" : "  \(who.joined(separator: ", "))")
    ]
      + lines.map { "  \(printable(String($0)))" }
  }

  /// Returns a text from the file as a part of a line, so that it cannot look like another line.
  private static func line(_ text: String) -> String {
    brief(text).split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).joined(separator: "\\n")
  }

  private static func request(_ arguments: Arguments) throws -> HistoryRequest {
    var request = HistoryRequest().newestFirst()
    let entity = arguments.value("--entity")
    for option in ["--object", "--property"] where entity == nil && arguments.value(option) != nil {
      throw UsageError("\(option) needs --entity NAME.")
    }
    if let entity { request = request.of(entity: entity) }
    if let entity, let id = try number("--object", arguments) {
      request = request.of(DynamicID(entity: entity, rowID: id))
    }
    if let property = arguments.value("--property") { request = request.changing(property) }
    if let author = arguments.value("--author") { request = request.by(author: author) }
    return request
  }

  private static func number(_ option: String, _ arguments: Arguments) throws -> Int64? {
    guard let text = arguments.value(option) else { return nil }
    guard let number = Int64(text), number >= 0 else {
      throw UsageError("\(option) takes a number that is 0 or more, not \"\(text)\".")
    }
    return number
  }

  // MARK: Purging

  /// What `--purge` deletes.
  private enum Extent {
    case keep(Int)
    case before(Date)
    case through(Int64)
  }

  private static func extent(_ arguments: Arguments) throws -> Extent? {
    var found: [Extent] = []
    if let count = try arguments.count("--newest") { found.append(.keep(count)) }
    if let text = arguments.value("--before") {
      guard let date = Date(dateText: text) else {
        throw UsageError(
          "--before takes a date such as 2026-05-01 or 2026-05-01T18:30:00Z, not \"\(text)\".")
      }
      found.append(.before(date))
    }
    if let number = try number("--through", arguments) { found.append(.through(number)) }
    guard found.count < 2 else {
      throw UsageError("--newest, --before and --through exclude each other. Give one of them.")
    }
    return found.first
  }

  private static func purge(_ session: Session, _ extent: Extent) async throws -> any Report {
    let key = try session.key()
    let (count, purged) = try look(session, extent, key: key)
    guard count > 0 else { return PurgeReport(store: session.storeAfterwards, purged: 0) }
    try session.confirm(
      "\(session.storePath): \(count) \(count == 1 ? "transaction" : "transactions") of the history would be "
        + "deleted for good.", allow: "--yes")
    session.interruption.begin(
      PurgedHistory(
        store: session.storePath, key: key, purged: purged,
        configuration: try session.lookingConfiguration(), log: session.line(LogCommand.self)))
    return PurgeReport(store: session.storeAfterwards, purged: try purge(session, extent, key: key))
  }

  /// Returns the number of transactions that would be deleted, and the last one that was purged before. The
  /// store is closed again afterwards.
  private static func look(_ session: Session, _ extent: Extent, key: Key) throws -> (Int, purged: Int64?) {
    let inspection = try session.inspection(key: key)
    let reader = try history(inspection)
    return (try reader.count(purging: purge(extent, reader)), reader.purged)
  }

  private static func purge(_ session: Session, _ extent: Extent, key: Key) throws -> Int {
    let connection = try Connection.open(session.storePath, key: key, configuration: session.configuration())
    defer { connection.close() }
    return try connection.transaction(.immediate) {
      try StoreInfo(connection).requireKnownFormat(file: session.storePath)
      guard let reader = try HistoryReader(connection) else { return 0 }
      return try reader.purge(purge(extent, reader))
    }
  }

  private static func purge(_ extent: Extent, _ reader: HistoryReader) throws -> HistoryPurge {
    switch extent {
    case .keep(let count): .keeping(transactions: count)
    case .before(let date): .before(date)
    case .through(let number): .through(try token(number, reader))
    }
  }

  /// Returns the token of the transaction with a number.
  private static func token(_ number: Int64, _ reader: HistoryReader) throws -> HistoryToken {
    do { return try reader.token(number) } catch is StoreError {
      let last = try reader.token
      let first = reader.purged.map { "they begin after #\($0), up to which they were purged" }
      throw RefusedError(
        code: .usage,
        description:
          "There is no transaction #\(number)\(first.map { ": \($0)" } ?? ""); the last one is #\(last).")
    }
  }
}
