// Maps the properties of a merged entity to the destination, and decides what happens to relationships that
// reference the entity.

internal import CipherSQLite

/// What a merge does in one model with the properties of the source, and with relationships to the
/// source.
struct MergeMapping {
  /// A relationship of an entity.
  struct End {
    let entity: EntityDescription
    let relationship: RelationshipDescription

    var name: String { "\(entity.name).\(relationship.name)" }

    /// A check that refuses objects with values in both to-ones, because only one of the two stays.
    func refusing(
      both other: RelationshipDescription, from table: SQLName, where condition: SQL
    ) -> CompiledStatement {
      .check(
        .init(rows: "\(table) WHERE \(condition)"),
        message:
          "%d objects of \(entity.name) have both \(relationship.name) and \(other.name), which become one; "
          + "first clear one of them with a transform")
    }
  }

  /// The entity that is dropped, with its own and its inherited properties but without ``shared``.
  let source: EntityDescription
  /// The entity that stays, with all inherited properties.
  let destination: EntityDescription
  /// The properties that both inherit from a common ancestor, or that the source inherits from the
  /// destination. The merge changes the value of such a property only if a pair maps another one to it.
  let shared: Set<String>
  private(set) var attributes: [(from: AttributeDescription, to: AttributeDescription)] = []
  /// To-ones of the source.
  private(set) var toOnes: [(from: RelationshipDescription, to: RelationshipDescription)] = []
  /// Relationships of the source whose links are in a join table.
  private(set) var links: [(from: RelationshipDescription, to: RelationshipDescription)] = []
  /// To-ones of other entities whose inverse is a to-many of the source, each with the to-one that gets its
  /// values.
  private(set) var members: [(from: End, to: RelationshipDescription)] = []
  /// Relationships of other entities to the source that will reference the destination.
  private(set) var redirected: [End] = []
  /// Relationships of other entities to the source that are dropped: their links move with the inverse,
  /// which the source declares, or are lost with the inverse.
  private(set) var dropped: [End] = []
  /// Properties of the source whose values are lost, such as `Company.www`.
  private(set) var losses: [String] = []

  private let model: Schema

  init(_ merge: EntityMerge, in model: Schema) throws(ModelError) {
    self.model = model
    let (own, other) = (try model.known(merge.source), try model.known(merge.destination))
    guard merge.source != merge.destination else {
      throw ModelError(reason: "\(merge.source) cannot be merged into itself")
    }
    let line = Set(model.line(of: merge.source)).intersection(model.line(of: merge.destination))
    let common = model.ancestors(of: own).filter { line.contains($0.name) }
    shared = Set(common.flatMap(\.propertyNames))
    var all = model.flattened(own)
    let kept = shared
    all.attributes.removeAll { kept.contains($0.name) }
    all.relationships.removeAll { kept.contains($0.name) }
    (source, destination) = (all, model.flattened(other))
    for entity in model.entities {
      for relationship in entity.relationships
      where entity.name == merge.source || relationship.destination == merge.source {
        try model.requireNoOrder(entity.name, relationship.name)
      }
    }
    let names = try places(by: merge.pairs)
    try mapAttributes(names)
    for relationship in source.relationships { try place(relationship, names) }
    classifyReferences()
    try requireValues()
  }

  /// Maps the properties of the source that the destination takes over: by a pair, or else by an equal
  /// name.
  private func places(by pairs: [PropertyPair]) throws(ModelError) -> [String: String] {
    var names: [String: String] = [:]
    for pair in pairs {
      guard source.propertyNames.contains(pair.name) else {
        guard shared.contains(pair.name) else { throw Self.unknown(pair.name, of: source) }
        throw ModelError(
          reason:
            "\(source.name) and \(destination.name) both inherit \(pair.name), which does not change; remove "
            + "it from the list"
        )
      }
      guard destination.propertyNames.contains(pair.new) else {
        throw Self.unknown(pair.new, of: destination)
      }
      guard names.updateValue(pair.new, forKey: pair.name) == nil,
        names.values.filter({ $0 == pair.new }).count == 1
      else { throw ModelError(reason: "\(pair.name) -> \(pair.new): one of these names is used twice") }
    }
    for name in source.propertyNames where names[name] == nil {
      if destination.propertyNames.contains(name), !names.values.contains(name) { names[name] = name }
    }
    return names
  }

  /// Checks the unique keys that contain a to-one which gets values of another one: see `members`.
  /// - Parameter value: Returns the value of a to-one after the merge, from the former column and the new
  ///   column.
  func memberChecks(in model: Schema, _ value: (SQL, SQL) -> SQL) -> [CompiledStatement] {
    var values: [String: [String: SQL]] = [:]
    for (member, new) in members {
      values[model.root(of: member.entity.name), default: [:]][new.name] = value(
        "\(identifier: member.relationship.columnName)", "\(identifier: new.columnName)")
    }
    return values.sorted { $0.key < $1.key }.flatMap { root, values -> [CompiledStatement] in
      guard let root = model.entity(named: root) else { return [] }
      return model.hierarchy(of: root).flatMap { owner in
        owner.uniqueKeys.filter { key in key.contains { values[$0] != nil } }.compactMap { key in
          let all = model.flattened(owner)
          let rows: SQL = "\(identifier: root.name)"
          return UniqueKeyCheck(key, of: all, rows: rows, others: nil) { property in
            values[property] ?? "\(identifier: all.relationship(named: property)?.columnName ?? property)"
          }?.check()
        }
      }
    }
  }

  private static func unknown(_ name: String, of entity: EntityDescription) -> ModelError {
    let hint = didYouMean(nearest(name, among: entity.propertyNames))
    return ModelError(reason: "there is no property \(entity.name).\(name)\(hint.map { "; \($0)" } ?? "")")
  }

  private mutating func mapAttributes(_ names: [String: String]) throws(ModelError) {
    for attribute in source.attributes {
      guard let name = names[attribute.name] else {
        losses.append("\(source.name).\(attribute.name)")
        continue
      }
      guard let target = destination.attribute(named: name) else { throw misfit(attribute.name, as: name) }
      guard attribute.type == target.type || attribute.type.converts(to: target.type) else {
        throw ModelError(
          reason:
            "\(source.name).\(attribute.name) is \(attribute.type.rawValue) and \(destination.name).\(name) is "
            + "\(target.type.rawValue); first retype one of them")
      }
      attributes.append((attribute, target))
    }
  }

  private func misfit(_ name: String, as new: String) -> ModelError {
    ModelError(
      reason:
        "\(source.name).\(name) cannot become \(destination.name).\(new), which is of another kind or has "
        + "another target; first rename or drop one of them")
  }

  /// Whether a relationship keeps its links in a join table, its own or that of its inverse.
  private func hasLinks(_ relationship: RelationshipDescription, of entity: EntityDescription) -> Bool {
    model.joinName(of: relationship, in: entity) != nil
  }

  private func inverse(of relationship: RelationshipDescription) -> RelationshipDescription? {
    relationship.inverse.flatMap { model.entity(named: relationship.destination)?.relationship(named: $0) }
  }

  /// Maps a relationship of the source to one of the destination, and records what happens to its links.
  private mutating func place(_ relationship: RelationshipDescription, _ names: [String: String])
    throws(ModelError)
  {
    guard let name = names[relationship.name] else {
      if !isKeptByInverse(relationship, names) { losses.append("\(source.name).\(relationship.name)") }
      return
    }
    if let owner = model.declarer(of: relationship.name, in: source) {
      try model.requireNoOrder(owner.name, relationship.name)
    }
    let target = relationship.destination == source.name ? destination.name : relationship.destination
    guard let new = destination.relationship(named: name), model.line(of: target).contains(new.destination),
      new.isToMany == relationship.isToMany,
      hasLinks(relationship, of: source) == hasLinks(new, of: destination)
    else { throw misfit(relationship.name, as: name) }
    if !relationship.isToMany {
      try mapToOne(relationship, as: new)
    } else if hasLinks(relationship, of: source) {
      mapLinks(relationship, as: new, names: names)
    } else {
      try mapMembers(relationship, as: new, names: names)
    }
  }

  /// Whether the links survive in the inverse, although the relationship has no counterpart in the
  /// destination.
  private func isKeptByInverse(_ relationship: RelationshipDescription, _ names: [String: String]) -> Bool {
    guard let back = inverse(of: relationship), back.destination == source.name else { return false }
    return relationship.destination == source.name
      ? names[back.name] != nil : !relationship.hasColumn
  }

  private mutating func mapToOne(_ relationship: RelationshipDescription, as new: RelationshipDescription)
    throws(ModelError)
  {
    guard inverse(of: relationship)?.isToMany != false, inverse(of: new)?.isToMany != false else {
      throw ModelError(
        reason:
          "\(source.name).\(relationship.name) or \(destination.name).\(new.name) is one-to-one; first drop "
          + "the inverse"
      )
    }
    toOnes.append((relationship, new))
  }

  private mutating func mapLinks(
    _ relationship: RelationshipDescription, as new: RelationshipDescription, names: [String: String]
  ) {
    // The relationship and its inverse may both belong to the source. If they map to a relationship of the
    // destination and its inverse, their links are copied once.
    if relationship.destination == source.name, let back = inverse(of: relationship),
      back.name < relationship.name, let place = names[back.name], place == inverse(of: new)?.name
    {
      return
    }
    links.append((relationship, new))
  }

  /// Maps a to-many whose links are in its inverse, a to-one.
  private mutating func mapMembers(
    _ relationship: RelationshipDescription, as new: RelationshipDescription, names: [String: String]
  ) throws(ModelError) {
    guard let back = inverse(of: relationship), let to = inverse(of: new) else { return }
    guard relationship.destination == source.name else {
      guard let owner = model.entity(named: relationship.destination) else { return }
      members.append((End(entity: owner, relationship: back), to))
      return
    }
    // If `back` is mapped to `to`, it moves the links itself. Otherwise `back` is mapped to nothing, or
    // to another property.
    if names[back.name] == to.name { return }
    guard !names.values.contains(to.name) else { throw misfit(relationship.name, as: new.name) }
    toOnes.append((back, to))
  }

  /// Sorts the relationships of other entities that reference the source into dropped and redirected ones.
  private mutating func classifyReferences() {
    for entity in model.entities where entity.name != source.name {
      for relationship in entity.relationships where relationship.destination == source.name {
        let end = End(entity: entity, relationship: relationship)
        let back = relationship.inverse.flatMap { source.relationship(named: $0) }
        let isSaid =
          back.map { back in
            back.destination == entity.name
              && (toOnes.contains { $0.from.name == back.name }
                || links.contains { $0.from.name == back.name })
          } ?? false
        let isMember = members.contains { $0.from.name == end.name }
        // The links are in a to-one of the source that has no counterpart, so they are lost.
        let isEmpty = !relationship.hasColumn && back.map(\.hasColumn) ?? false
        if isSaid || isMember || isEmpty { dropped.append(end) } else { redirected.append(end) }
      }
    }
  }

  /// Refuses a merge whose objects would lack a required property of the destination.
  private func requireValues() throws(ModelError) {
    let filled = Set(attributes.map(\.to.name) + toOnes.map(\.to.name))
      .union(shared)
    let missing =
      destination.attributes.first {
        !$0.isOptional && $0.defaultValue == nil && !filled.contains($0.name)
      }?.name
      ?? destination.relationships.first { $0.hasColumn && $0.isRequired && !filled.contains($0.name) }?.name
    guard let missing else { return }
    throw ModelError(
      reason:
        "\(destination.name).\(missing) is required, but no property of \(source.name) becomes it; write: "
        + "with \(source.name).NAME -> \(destination.name).\(missing), or first make it optional")
  }
}
