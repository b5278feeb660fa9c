// Folds several steps into one for new stores, and proves that new stores have equal contents.

internal import CipherSQLite
public import ObjectVault

/// The first steps of a set, folded into one.
public struct MigrationFold: Sendable, Hashable {
  /// The folded step: ``/ObjectVault/MigrationStep/text`` is its file.
  public let step: MigrationStep
  /// The set of steps that begins with the folded step.
  public let migrations: MigrationSet
  /// The data blocks that the folded step keeps, such as `0003 seed`.
  public let kept: [String]
  /// The data blocks that the folded step omits, because a new store has no rows that they would affect.
  public let leftOut: [String]
}

extension MigrationSet {
  /// Folds the first steps into one, which creates new stores.
  ///
  /// Stores that have run all of these steps are not affected: the folded step has the steps' checksums.
  /// A store that has run only some of them is refused from then on, with the name of the release that
  /// can migrate it (``/ObjectVault/HistoryConflict/folded(version:into:name:release:)``). So fold only
  /// steps that every store in use has run.
  ///
  /// The folded step is proven to have the same result. Its model has the same meaning as the model of
  /// the steps. Where steps have seeds or transforms, one store is created with the steps and one with
  /// the folded step, in encrypted temporary files, and all rows are compared. If no data block creates a
  /// row in a new store, all data blocks are omitted.
  /// - Parameters:
  ///   - number: The number of the last step to fold.
  ///   - release: The last release that has the steps themselves.
  /// - Returns: The folded step with the remaining steps.
  /// - Throws: ``/ObjectVault/StoreError/foldRefused(through:reason:)``; the errors of
  ///   ``/ObjectVault/MigrationSet/model(at:)``; ``/CipherSQLite/SQLError`` and
  ///   ``/ObjectVault/StoreError/diskFull(file:)`` where the stores could not be created and compared.
  ///   These errors do not mean that the steps cannot be folded.
  public func folded(to number: Int, release: String? = nil) throws -> MigrationFold {
    guard number > max(1, foldedVersion), number <= version else {
      throw StoreError.foldRefused(
        through: number,
        reason: number > version
          ? "the last step is \(numbered(version))"
          : foldedVersion > 0
            ? "the steps up to \(numbered(foldedVersion)) are already folded; name a later step"
            : "a single step needs no folding")
    }
    let model = try model(at: number)
    let blocks = steps.prefix(number).flatMap { step in
      step.operations.filter(\.isData).map { (name: "\(numbered(step.number)) \($0.summary)", operation: $0) }
    }
    guard blocks.contains(where: \.operation.writesRows) else {
      let fold = try fold(to: number, release: release, model.creation, kept: [], leftOut: blocks.map(\.name))
      try fold.requireModel(model)
      return fold
    }
    return try provenFold(to: number, release: release, blocks: blocks, model: model)
  }

  /// The advice for a fold that data blocks prevent.
  private var adviceBeforeBlocks: String {
    let first = steps.first { $0.operations.contains(where: \.isData) }?.number ?? 0
    return first - 1 > max(1, foldedVersion)
      ? "Fold up to \(numbered(first - 1)), the step before the first of them, or leave the steps as they are"
      : "Leave the steps as they are"
  }

  /// Returns the shortest of three folded forms that is proven to have the same result.
  private func provenFold(
    to number: Int, release: String?, blocks: [(name: String, operation: MigrationOperation)],
    model: Schema
  ) throws -> MigrationFold {
    // The forms, the shortest first: the final tables alone, if the blocks create no row in a new store;
    // the final tables followed by the blocks; and, if the blocks use intermediate tables, all operations
    // in sequence.
    let names = blocks.map(\.name)
    var reasons: [String] = []
    for (operations, kept, leftOut) in [
      (model.creation, [], names), (model.creation + blocks.map(\.operation), names, []),
      (steps.prefix(number).flatMap(\.operations), names, []),
    ] {
      do {
        let fold = try fold(to: number, release: release, operations, kept: kept, leftOut: leftOut)
        try fold.requireModel(model)
        try FoldProof(prefix(number), against: fold.migrations.prefix(number), model: model).requireSame()
        return fold
      } catch {
        guard let reason = Self.reason(of: error) else { throw error }
        reasons.append(reason)
      }
    }
    // Compares the steps with themselves, to find the cause. If the steps themselves fail, the forms
    // above have failed too, and their error is reported.
    do { try FoldProof(prefix(number), against: prefix(number), model: model).requireSame() } catch StoreError
      .foldRefused
    {
      reasons.append(
        "\(ended(reasons.last ?? "")) Even two new stores made by the steps differ: SQL such as random() or "
          + "date('now') returns other values each time"
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

  /// The reason in an error that the steps cause; nil for an error of the disk, memory or another
  /// process.
  private static func reason(of error: any Error) -> String? {
    switch error {
    case StoreError.foldRefused(_, let reason): reason
    case let error as StoreError where error.isOfSteps: StoreError.withoutUnchanged("\(error)")
    case let error as SQLError where error.isOfStatement: "\(error)"
    default: nil
    }
  }

  private func fold(
    to number: Int, release: String?, _ operations: [MigrationOperation], kept: [String], leftOut: [String]
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
    // Parsed from its text, as programs will do.
    let read = try MigrationStep(number: number, name: step.name, text: step.text)
    return MigrationFold(
      step: read, migrations: try MigrationSet([read] + steps.dropFirst(number)).transforming(as: self),
      kept: kept,
      leftOut: leftOut
    )
  }
}

extension StoreError {
  /// Whether the error means that steps cannot run as they are. Other errors concern the disk, memory or
  /// another process.
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
  /// Checks that the folded step produces a model with the same meaning as a given one.
  /// - Throws: ``/ObjectVault/StoreError/foldRefused(through:reason:)`` where the model differs.
  fileprivate func requireModel(_ model: Schema) throws {
    let reached = try migrations.model(at: step.number)
    guard reached.meaningHash != model.meaningHash else { return }
    let lines = SchemaDifference.lines(
      reached, against: model, found: "the folded step", expected: "the steps")
    throw StoreError.foldRefused(
      through: step.number, reason: "the model would differ: \(lines.joined(separator: "; "))")
  }
}

/// Creates a new store with each of two sets of steps, and compares the rows.
private struct FoldProof {
  private static let names = ["steps", "one"]
  private static let folder = PrivateFolder.Kind(prefix: "vault-fold-", files: Set(names))

  private let sets: [MigrationSet]
  private let model: Schema

  init(_ first: MigrationSet, against second: MigrationSet, model: Schema) {
    (sets, self.model) = ([first, second], model)
  }

  /// Compares the rows of both stores.
  /// - Throws: ``/ObjectVault/StoreError/foldRefused(through:reason:)`` where their rows differ; the
  ///   errors of a step that does not run.
  func requireSame() throws {
    let folder = try PrivateFolder(Self.folder)
    let contents = try withExtendedLifetime(folder) {
      try zip(sets, Self.names).map { try content(of: $0, in: "\(folder.path)/\($1)") }
    }
    for (table, rows) in contents[0] where contents[1][table] != rows {
      throw StoreError.foldRefused(
        through: sets[0].version,
        reason: "\(table) has \(counted(rows.count, "row")) with the steps, but other rows with the folded "
          + "step")
    }
  }

  /// The rows of every table of a new store, which is encrypted with a random key that is discarded.
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
