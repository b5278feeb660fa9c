// Several steps as one, for new stores: what it does, and the proof that it does the same.

internal import CipherSQLite
public import ObjectVault

/// The first steps of a set as one step.
public struct MigrationFold: Sendable, Hashable {
  /// The step: ``/ObjectVault/MigrationStep/text`` is its file.
  public let step: MigrationStep
  /// The steps with it.
  public let migrations: MigrationSet
  /// The data blocks that it keeps, such as `0003 seed`.
  public let kept: [String]
  /// The data blocks that it does without, because a new store has no rows that they could meet.
  public let leftOut: [String]
}

extension MigrationSet {
  /// Folds the first steps into one, which new stores are made with.
  ///
  /// Stores that have been through the steps are as before: the one remembers their checksums. A store that has been through
  /// some of them only is refused from then on, with the release that leads on from there
  /// (``/ObjectVault/HistoryConflict/folded(version:into:name:release:)``); so fold only steps that every store in use has run.
  ///
  /// What the one does is proven to be the same: its model has the meaning of the model that the steps make, and where steps
  /// have seeds or transforms, a store is made either way, in encrypted temporary files, and all rows are compared. Blocks that
  /// make no row of a new store are left out.
  /// - Parameters:
  ///   - number: The last step that is folded.
  ///   - release: The last release that has the steps themselves.
  /// - Throws: ``/ObjectVault/StoreError/foldRefused(through:reason:)``; as ``/ObjectVault/MigrationSet/model(at:)``;
  ///   ``/CipherSQLite/SQLError`` and ``/ObjectVault/StoreError/diskFull(file:)`` where the stores could not be made and compared,
  ///   which says nothing of the steps.
  public func folded(to number: Int, release: String? = nil) throws -> MigrationFold {
    guard number > max(1, foldedVersion), number <= version else {
      throw StoreError.foldRefused(
        through: number,
        reason: number > version
          ? "they end at \(numbered(version))"
          : foldedVersion > 0
            ? "those up to \(numbered(foldedVersion)) are one already; name a later one"
            : "one is one already")
    }
    let model = try model(at: number)
    let blocks = steps.prefix(number).flatMap { step in
      step.operations.filter(\.isData).map { (name: "\(numbered(step.number)) \($0.summary)", operation: $0) }
    }
    guard blocks.contains(where: \.operation.writesRows) else {
      let fold = try fold(to: number, release, model.creation, kept: [], leftOut: blocks.map(\.name))
      try fold.requireModel(model)
      return fold
    }
    return try provenFold(to: number, release, blocks, model)
  }

  /// What can be folded of steps whose blocks are in the way.
  private var adviceBeforeBlocks: String {
    let first = steps.first { $0.operations.contains(where: \.isData) }?.number ?? 0
    return first - 1 > max(1, foldedVersion)
      ? "Fold up to \(numbered(first - 1)), the step before the first of them, or leave the steps as they are"
      : "Leave the steps as they are"
  }

  /// The shortest form that is proven to do the same.
  private func provenFold(
    to number: Int, _ release: String?, _ blocks: [(name: String, operation: MigrationOperation)],
    _ model: Schema
  ) throws -> MigrationFold {
    // The shortest form first: the tables alone, where the blocks make no row of a new store. Then all tables as they are in
    // the end, with the blocks behind them. Where these speak of what was there for a while, the long one: the operations one
    // behind the other.
    let names = blocks.map(\.name)
    var reasons: [String] = []
    for (operations, kept, leftOut) in [
      (model.creation, [], names), (model.creation + blocks.map(\.operation), names, []),
      (steps.prefix(number).flatMap(\.operations), names, []),
    ] {
      do {
        let fold = try fold(to: number, release, operations, kept: kept, leftOut: leftOut)
        try fold.requireModel(model)
        try FoldProof(prefix(number), fold.migrations.prefix(number), model).requireSame()
        return fold
      } catch {
        guard let reason = Self.reason(of: error) else { throw error }
        reasons.append(reason)
      }
    }
    // By the steps themselves, twice. What else stops that has stopped the others, and was said.
    do { try FoldProof(prefix(number), prefix(number), model).requireSame() } catch StoreError.foldRefused {
      reasons.append(
        "\(ended(reasons.last ?? "")) Two new stores by the steps differ already: SQL such as random() or date('now') gives others each time"
      )
    } catch {
      guard Self.reason(of: error) != nil else { throw error }
    }
    throw StoreError.foldRefused(
      through: number,
      reason: "\(blocks.map(\.name).joined(separator: ", ")) would not leave the same rows in a new store. "
        + ended(reasons.last ?? "")
        + " \(adviceBeforeBlocks)")
  }

  /// What an error says of the steps; nil where they could not be tried.
  private static func reason(of error: any Error) -> String? {
    switch error {
    case StoreError.foldRefused(_, let reason): reason
    case let error as StoreError where error.isOfSteps: StoreError.withoutUnchanged("\(error)")
    case let error as SQLError where error.isOfStatement: "\(error)"
    default: nil
    }
  }

  private func fold(
    to number: Int, _ release: String?, _ operations: [MigrationOperation], kept: [String], leftOut: [String]
  ) throws -> MigrationFold {
    let all = steps.prefix(number)
    let before = steps.last { !$0.folds.isEmpty }?.folds ?? []
    let folds = all.map { step in
      FoldedStep(
        number: step.number, name: step.name, checksum: step.checksum,
        release: step.number <= before.count ? before[step.number - 1].release : release)
    }
    let step = MigrationStep(
      folding: folds, into: steps[number - 1], operations: operations,
      reader: all.map(\.reader).max() ?? number, allowed: Set(all.flatMap(\.allowed)).sorted())
    // Read again from its text, as everybody will.
    let read = try MigrationStep(number: number, name: step.name, text: step.text)
    return MigrationFold(
      step: read, migrations: try MigrationSet([read] + steps.dropFirst(number)).transforming(as: self),
      kept: kept,
      leftOut: leftOut
    )
  }
}

extension StoreError {
  /// Whether it says that steps cannot run as they are. Any other is about the disk, memory or another process.
  fileprivate var isOfSteps: Bool {
    switch self {
    case .migrationFailed, .rowsRefused, .transformMissing, .lossNotAllowed, .idsExhausted, .unreadableValue,
      .validation, .migrationSyntax, .historyConflict, .schemaDrift, .stepsObstructed:
      true
    default: false
    }
  }
}

extension MigrationFold {
  /// - Throws: ``/ObjectVault/StoreError/foldRefused(through:reason:)`` where the model is another.
  fileprivate func requireModel(_ model: Schema) throws {
    let reached = try migrations.model(at: step.number)
    guard reached.meaningHash != model.meaningHash else { return }
    let lines = SchemaDifference.lines(reached, model, found: "the one", expected: "the steps")
    throw StoreError.foldRefused(
      through: step.number, reason: "the model would be another: \(lines.joined(separator: "; "))")
  }
}

/// A new store by each of two ways.
private struct FoldProof {
  private static let names = ["steps", "one"]
  private static let folder = PrivateFolder.Kind(prefix: "vault-fold-", files: Set(names))

  private let sets: [MigrationSet]
  private let model: Schema

  init(_ first: MigrationSet, _ second: MigrationSet, _ model: Schema) {
    (sets, self.model) = ([first, second], model)
  }

  /// - Throws: ``/ObjectVault/StoreError/foldRefused(through:reason:)`` where their rows differ; what a step throws that
  ///   does not run.
  func requireSame() throws {
    let folder = try PrivateFolder(Self.folder)
    let contents = try withExtendedLifetime(folder) {
      try zip(sets, Self.names).map { try content(of: $0, in: "\(folder.path)/\($1)") }
    }
    for (table, rows) in contents[0] where contents[1][table] != rows {
      throw StoreError.foldRefused(
        through: sets[0].version,
        reason: "\(table) has \(counted(rows.count, "row")) by the steps, and other ones by the one step")
    }
  }

  /// The rows of every table of a new store, under a key that nobody keeps.
  private func content(of set: MigrationSet, in path: String) throws -> [String: [[SQLValue]]] {
    let key = Key.raw((0..<32).map { _ in UInt8.random(in: .min ... .max) })
    var content: [String: [[SQLValue]]] = [:]
    _ = try Connection.create(path, key: key) { connection in
      try StoreFunctions.register(on: connection)
      try MigrationRunner(connection: connection, set: set, progress: nil).createStore()
      for table in model.tables {
        let columns = SQL.names(table.columns.map { SQLName($0.name) })
        content[table.name] = try connection.rows(
          "SELECT \(columns) FROM \(identifier: table.name) ORDER BY \(columns)")
      }
    }
    return content
  }
}
