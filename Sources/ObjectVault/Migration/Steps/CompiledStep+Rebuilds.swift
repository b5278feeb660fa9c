// The tables that a part of a step copies, and the statements that would avoid a copy but that the engine
// lacks: for screens and lint.

internal import CipherSQLite

extension CompiledStep.Part {
  /// A table that the part copies.
  struct Rebuild {
    /// The table's name before the part.
    let table: String
    /// The operations that require the copy.
    private(set) var operations: [MigrationOperation]
    /// The statements that the engine lacks to change the table in place, each once, such as `DROP COLUMN`.
    private(set) var missing: [String]
    /// The number of copies.
    private(set) var copies = 1

    /// Adds the reasons of another copy of the same table.
    mutating func join(_ other: Rebuild) {
      operations += other.operations
      missing += other.missing.filter { !missing.contains($0) }
      copies += other.copies
    }
  }

  /// The tables that the part copies, in order, with the reasons.
  func rebuilds(_ engine: Engine) -> [Rebuild] {
    planned.compactMap { planned in
      guard case .copy(let copy) = planned.statement else { return nil }
      let all = operations(onFinal: MigrationCompiler.finalName(of: copy.target))
      let causes = all.filter { $0.rules.missingStatement(engine) != nil }
      var missing: [String] = []
      for statement in causes.compactMap({ $0.rules.missingStatement(engine) })
      where !missing.contains(statement) { missing.append(statement) }
      let table = MigrationCompiler.finalName(of: copy.target)
      if causes.isEmpty, compiler?.after.layout(ofTable: table).lazyColumns.isEmpty == false {
        missing.append("ADD COLUMN before lazy columns")
      }
      return Rebuild(table: copy.source, operations: causes.isEmpty ? all : causes, missing: missing)
    }
  }

  /// The operations that changed a table.
  /// - Parameter name: The table's name after the part.
  private func operations(onFinal name: String) -> [MigrationOperation] {
    // A part of a composite operation has that one operation, which a person wrote.
    guard operations.count > 1, let compiler,
      let table = compiler.after.tables(but: compiler.untouched).first(where: { $0.name == name })
    else { return operations }
    let found = compiler.operations(on: table)
    return found.isEmpty ? operations : found
  }
}
