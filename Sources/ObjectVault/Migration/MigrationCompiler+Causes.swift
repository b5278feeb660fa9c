// Why a table is written anew: which operations of a run are about it, and which of these the engine has no statement for.

internal import CipherSQLite

/// An end of links, or an entity where no property is named.
struct PropertyPlace: Hashable {
  let entity: String
  var property: String?
}

extension MigrationCompiler {
  /// The operations that a table is other for than it was: those about its own entities, and those about what its references
  /// lead to, by the names that these have at the end of the run.
  func operations(on table: TableInfo) -> [MigrationOperation] {
    mapping.trail.operations(on: places(behindReferencesOf: table), of: members(of: table))
  }

  /// What a table names that is declared elsewhere: the other ends of its to-ones, or both ends of the links in it.
  private func places(behindReferencesOf table: TableInfo) -> Set<PropertyPlace> {
    var places: Set<PropertyPlace> = []
    if let root = after.entity(named: table.name) {
      for entity in after.family(of: root) { places.formUnion(otherEnds(of: entity, in: after)) }
      guard let former = mapping.entities[root.name].flatMap({ before.entity(named: $0) }) else {
        return places
      }
      for entity in before.family(of: former) {
        places.formUnion(otherEnds(of: entity, in: before).map(final))
      }
      return places
    }
    if let join = after.joinTables.first(where: { $0.name == table.name }) {
      places.formUnion(ends(of: join, in: after))
    }
    if let former = joinOrigin(of: table.name)?.table,
      let join = before.joinTables.first(where: { $0.name == former })
    {
      places.formUnion(ends(of: join, in: before).map(final))
    }
    return places
  }

  /// Whom the to-ones of an entity lead to, and by what these lead back.
  private func otherEnds(of entity: EntityDescription, in model: Schema) -> [PropertyPlace] {
    entity.relationships.filter { !$0.isToMany }.flatMap { relationship in
      [PropertyPlace(entity: model.root(of: relationship.destination))]
        + (relationship.inverse.map { [PropertyPlace(entity: relationship.destination, property: $0)] } ?? [])
    }
  }

  private func ends(of join: JoinTable, in model: Schema) -> [PropertyPlace] {
    let inverse = model.entity(named: join.source)?.relationship(named: join.relationship)?.inverse
    return [
      PropertyPlace(entity: join.source), PropertyPlace(entity: join.target),
      PropertyPlace(entity: join.source, property: join.relationship),
    ] + (inverse.map { [PropertyPlace(entity: join.target, property: $0)] } ?? [])
  }

  /// A place of before by the names that the trail knows it by: those at the end, or those that it was dropped under.
  private func final(_ place: PropertyPlace) -> PropertyPlace {
    let entity =
      mapping.entities.first { $0.value == place.entity }?.key
      ?? mapping.dropped.entities[place.entity] ?? place.entity
    guard let property = place.property else { return PropertyPlace(entity: entity) }
    if let dropped = mapping.dropped.properties[place.entity]?[property] {
      // As in `Team.users`, where a later operation may have renamed the entity.
      return PropertyPlace(entity: entity, property: dropped.split(separator: ".").last.map(String.init))
    }
    let kept = mapping.formerNames(of: entity).first { $0.value == property }?.key
    return PropertyPlace(entity: entity, property: kept ?? property)
  }
}

extension CompiledStep.Part {
  /// A table that the part writes anew.
  struct Rebuild {
    /// Its name before the part.
    let table: String
    /// The operations that it is written anew for.
    private(set) var operations: [MigrationOperation]
    /// What the engine lacks that would do it in place, each once, such as `DROP COLUMN`.
    private(set) var missing: [String]

    /// Takes in why the table is written anew once more.
    mutating func join(_ other: Rebuild) {
      operations += other.operations
      missing += other.missing.filter { !missing.contains($0) }
    }
  }

  /// The tables that it writes anew, in order, and why.
  func rebuilds(_ engine: Engine) -> [Rebuild] {
    planned.compactMap { planned in
      guard case .copy(let table, let temporary, _, _, _) = planned.statement else { return nil }
      let all = operations(onFinal: MigrationCompiler.finalName(of: temporary))
      let causes = all.filter { $0.rules.missingStatement(engine) != nil }
      var missing: [String] = []
      for statement in causes.compactMap({ $0.rules.missingStatement(engine) })
      where !missing.contains(statement) { missing.append(statement) }
      return Rebuild(table: table, operations: causes.isEmpty ? all : causes, missing: missing)
    }
  }

  /// - Parameter name: The table's name behind the part.
  private func operations(onFinal name: String) -> [MigrationOperation] {
    // An operation that stands for others is what a person wrote.
    guard operations.count > 1, let compiler,
      let table = compiler.after.tables(but: []).first(where: { $0.name == name })
    else { return operations }
    let found = compiler.operations(on: table)
    return found.isEmpty ? operations : found
  }
}
