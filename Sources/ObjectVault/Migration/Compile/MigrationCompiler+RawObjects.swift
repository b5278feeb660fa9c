// Drops raw objects that name a changed table before the changes, and creates them again afterwards.
// SQLite would drop triggers and indexes with their table without an error. From 3.25 on, it refuses to
// rename a column while a view names a table that does not exist.

internal import CipherSQLite

extension MigrationCompiler {
  /// Returns the statements that drop raw objects before tables are swapped, and those that create them
  /// after all changes.
  /// - Parameters:
  ///   - changed: The tables that are created, renamed or dropped, or whose columns are renamed or
  ///     dropped, in lower case.
  ///   - touched: All tables that change, including those that only get a new column, in lower case.
  func rawStatements(changed: Set<String>, touched: Set<String>) -> (
    drops: [PlannedStatement], creations: [PlannedStatement]
  ) {
    guard !before.rawObjects.isEmpty || !after.rawObjects.isEmpty else { return ([], []) }
    let made = after.rawStatements
    let wanted = Set(made.map(\.create))
    var kept = before.rawStatements
    var (gone, names, isSettled): ([RawStatement], Set<String>, Bool) = ([], changed, false)
    // A raw object that names a recreated one is recreated too, and so on, because dropping a view also
    // drops its triggers.
    while !isSettled {
      let hit = kept.filter { !wanted.contains($0.create) || !$0.words.isDisjoint(with: names) }
      isSettled = hit.isEmpty
      kept.removeAll(where: hit.contains)
      names.formUnion(hit.map { $0.object.name.lowercased() })
      gone += hit
    }
    let storeState = Set(kept.map(\.create))
    let new = made.filter { !storeState.contains($0.create) }
    let drops = gone.sorted { ($0.place, $0.object.name) > ($1.place, $1.object.name) }
    return (
      drops.map { statement in
        let isDropped = after.rawObject(named: statement.object.name) == nil
        return PlannedStatement(
          statement: .sql(statement.drop),
          operations: isDropped ? [.dropRawObject(statement.object.kind, statement.object.name)] : [])
      },
      creations(of: new, beside: Self.touched(kept, by: touched.union(names)))
    )
  }

  /// Returns the raw objects that name one of the tables, directly or through other raw objects.
  private static func touched(_ statements: [RawStatement], by names: Set<String>) -> [RawStatement] {
    var (names, found, rest) = (names, [RawStatement](), statements)
    while let place = rest.firstIndex(where: { !$0.words.isDisjoint(with: names) }) {
      names.insert(rest[place].object.name.lowercased())
      found.append(rest.remove(at: place))
    }
    return found
  }

  /// Returns the statements that create new raw objects and test raw objects. A trigger is tested right
  /// after its creation: the engine reads all triggers of a table together, and its error does not name
  /// the faulty one.
  private func creations(of new: [RawStatement], beside kept: [RawStatement]) -> [PlannedStatement] {
    let (triggers, others) = (new.filter(\.isTrigger), new.filter { !$0.isTrigger })
    return others.map { planned($0) { .raw($0) } }
      + (kept + others).filter { $0.object.kind != .index }.sorted { $0.place < $1.place }
      .map { planned($0) { .rawMustFit($0) } }
      + triggers.flatMap { trigger in [planned(trigger) { .raw($0) }, planned(trigger) { .rawMustFit($0) }] }
  }

  private func planned(
    _ statement: RawStatement, _ compiled: (RawStatement) -> CompiledStatement
  ) -> PlannedStatement {
    let isNew = before.rawObject(named: statement.object.name) == nil
    return PlannedStatement(
      statement: compiled(statement), operations: isNew ? [.createRawObject(statement.object)] : [])
  }
}

extension Schema {
  /// The statements that drop all triggers, and those that create them again: rows that an operation
  /// moves must not fire triggers.
  var withoutTriggers: (before: [CompiledStatement], after: [CompiledStatement]) {
    let triggers = rawStatements.filter(\.isTrigger)
    return (triggers.reversed().map { .sql($0.drop) }, triggers.map { .raw($0) })
  }
}
