// The tables that a part of a step writes anew, and what the engine has no statement for: what screens and lint say.

internal import CipherSQLite

extension CompiledStep.Part {
  /// A table that the part writes anew.
  struct Rebuild {
    /// Its name before the part.
    let table: String
    /// The operations that it is written anew for.
    private(set) var operations: [MigrationOperation]
    /// What the engine lacks that would do it in place, each once, such as `DROP COLUMN`.
    private(set) var missing: [String]
    /// How often it is.
    private(set) var copies = 1

    /// Takes in why the table is written anew once more.
    mutating func join(_ other: Rebuild) {
      operations += other.operations
      missing += other.missing.filter { !missing.contains($0) }
      copies += other.copies
    }
  }

  /// The tables that it writes anew, in order, and why.
  func rebuilds(_ engine: Engine) -> [Rebuild] {
    planned.compactMap { planned in
      guard case .copy(let copy) = planned.statement else { return nil }
      let all = operations(onFinal: MigrationCompiler.finalName(of: copy.target))
      let causes = all.filter { $0.rules.missingStatement(engine) != nil }
      var missing: [String] = []
      for statement in causes.compactMap({ $0.rules.missingStatement(engine) })
      where !missing.contains(statement) { missing.append(statement) }
      return Rebuild(table: copy.source, operations: causes.isEmpty ? all : causes, missing: missing)
    }
  }

  /// - Parameter name: The table's name behind the part.
  private func operations(onFinal name: String) -> [MigrationOperation] {
    // An operation that stands for others is what a person wrote.
    guard operations.count > 1, let compiler,
      let table = compiler.after.tables(but: compiler.untouched).first(where: { $0.name == name })
    else { return operations }
    let found = compiler.operations(on: table)
    return found.isEmpty ? operations : found
  }
}
