// Which operations of a run a table is another one for: those about it, and those about what its references lead to.

internal import CipherSQLite

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
    entity.relationships.filter { $0.hasColumn }.flatMap { relationship in
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
