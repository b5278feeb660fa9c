// Maps the rows of an imported file to the tables of the steps' model. Entities and properties are
// matched by name regardless of case, because a file may not record the case.

internal import CipherSQLite
internal import ObjectVault

/// A table to fill, and the query that fills it.
struct AdoptionFill {
  typealias Column = (name: String, expression: SQL)

  /// The name in messages: the entity or the relationship.
  let name: String
  let source: String
  let target: String
  /// The columns with their expressions.
  let columns: [Column]
  /// The condition for the rows to copy; nil for all.
  let condition: SQL?
  let rows: Int64
  /// The entities of the rows, with their counts; nil if all rows are of `name`.
  var parts: [(name: String, rows: Int64)]?

  /// What the rows of the source become.
  var tables: [Adoption.Table] {
    (parts ?? [(name, rows)]).map { Adoption.Table(source: source, target: $0.name, rows: $0.rows) }
  }

  /// The query on the rows of the source.
  var select: SQL {
    let list = SQL.joined(columns.map(\.expression))
    let rows: SQL = condition.map { " WHERE \($0)" } ?? ""
    return "SELECT \(list) FROM \(SQLName(source)) AS s\(rows)"
  }
}

/// How an adoption fits a model.
struct AdoptionFit {
  var fills: [AdoptionFill] = []
  var losses: [AdoptionLoss]
  var obstacles: [String]
  /// The highest issued id of each entity.
  var highestIDs: [String: Int64] = [:]
  /// The ordered to-manys of the steps whose order is imported, such as `Album.songs`.
  private var ordered: Set<String> = []

  init(_ adoption: Adoption, _ model: Schema) {
    (losses, obstacles) = (adoption.losses, adoption.obstacles)
    for entity in adoption.entities { add(entity, of: adoption, to: model) }
    for links in adoption.links { add(links, of: adoption, to: model) }
    if fills.isEmpty, obstacles == adoption.obstacles, !(adoption.entities.isEmpty && model.entities.isEmpty)
    {
      // An obstacle, since losses can be allowed: the caller does not want a store without rows.
      obstacles = [Self.nothingFits(adoption, model)]
      return
    }
    for entity in model.entities {
      for relationship in entity.relationships
      where relationship.isOrdered && !ordered.contains("\(entity.name).\(relationship.name)") {
        obstacles.append(
          "\(entity.name).\(relationship.name) is ordered in the steps, but the file has no order for it. "
            + "Make it unordered in this step, and write into a later step: make "
            + "\(entity.name).\(relationship.name) ordered.")
      }
    }
  }

  private static func nothingFits(_ adoption: Adoption, _ model: Schema) -> String {
    let names = { (names: [String]) in
      names.isEmpty ? "none" : names.prefix(3).joined(separator: ", ") + (names.count > 3 ? " and more" : "")
    }
    return
      "no table of it matches an entity of the steps. The file has \(names(adoption.entities.map(\.name))); "
      + "the steps have \(names(model.entities.map(\.name))). \(Adoption.needsOwnSteps)"
  }

  /// The destinations that the steps declare for columns of a Core Data file, where they differ from the
  /// adoption: by property, with an empty text for a number. The file does not record these destinations.
  static func toOnes(of model: Schema, otherThan adoption: Adoption) -> [String: String] {
    guard adoption.origin == .coreData else { return [:] }
    let sources = adoption.entities.flatMap(\.all)
    let entities = Set(sources.map { $0.name.lowercased() })
    var toOnes: [String: String] = [:]
    for source in sources {
      guard let entity = model.entities.first(where: { $0.name.lowercased() == source.name.lowercased() }),
        let former = adoption.schema.entity(named: source.name)
      else { continue }
      // The steps may declare the property in another entity of the table.
      let relatives = model.hierarchy(of: entity)
      for property in source.values.map(\.property) {
        let found = former.relationship(named: property)?.destination
        let isNamed = { (name: String) in name.lowercased() == property.lowercased() }
        if let toOne = relatives.flatMap(\.relationships).first(where: { isNamed($0.name) && $0.hasColumn }) {
          guard found?.lowercased() != toOne.destination.lowercased(),
            entities.contains(toOne.destination.lowercased()),
            found != nil || former.attribute(named: property)?.type == .int
          else { continue }
          toOnes["\(source.name).\(property)"] = toOne.destination
        } else if found != nil,
          relatives.flatMap(\.attributes).contains(where: { isNamed($0.name) && $0.type == .int })
        {
          toOnes["\(source.name).\(property)"] = ""
        }
      }
    }
    return toOnes
  }

  /// The adoption, with only the tables that are imported.
  func taken(of adoption: Adoption) -> Adoption {
    Adoption(
      origin: adoption.origin, schema: adoption.schema,
      tables: fills.flatMap(\.tables).sorted { $0.source < $1.source },
      notes: adoption.notes, losses: losses, obstacles: obstacles, entities: adoption.entities,
      links: adoption.links)
  }

  /// The hint that a name may be mistyped, with similar names of the steps that nothing in the file has.
  private static func question(_ names: [String], _ kind: String) -> String {
    names.isEmpty
      ? "" : "; the file has no \(kind) for \(names.joined(separator: " or ")): is the name mistyped?"
  }

  private mutating func lose(_ name: String, rows: Int64, because reason: String) {
    losses.append(.init(name: name, rows: rows, reason: reason))
  }

  private mutating func loseOrder(_ name: String, _ rows: Int64) {
    lose("\(name).order", rows: rows, because: "\(name) is ordered in the file, but not in the steps")
  }

  private mutating func add(_ source: AdoptedEntity, of adoption: Adoption, to model: Schema) {
    let total = source.all.reduce(0) { $0 + $1.rows }
    guard let entity = model.entities.first(where: { $0.name.lowercased() == source.name.lowercased() })
    else {
      let taken = Set(adoption.entities.flatMap(\.all).map { $0.name.lowercased() })
      let free = model.entities.map(\.name).filter { !taken.contains($0.lowercased()) }
      return lose(
        source.name, rows: total,
        because: "the steps have no such entity" + Self.question(nearest(source.name, among: free), "table"))
    }
    if let parent = entity.parent {
      obstacles.append(
        "\(entity.name) inherits from \(parent) in the steps, but has a table of its own in the file. "
          + "Declare it in this step without a parent, and write into a later step: set parent of "
          + "\(entity.name) to \(parent).")
      return
    }
    var columns: [AdoptionFill.Column] = [("id", source.id)]
    let place = AdoptionPlace(source, entity, adoption: adoption.schema, model: model)
    for member in source.all {
      for value in member.values { columns += fit(value, of: member, in: place) }
    }
    columns += entities(in: place)
    highestIDs[entity.name] = source.highestID
    fills.append(
      AdoptionFill(
        name: entity.name, source: source.table, target: entity.name, columns: columns, condition: nil,
        rows: total, parts: place.parts))
  }

  /// The columns that a value goes to: its own column, and the column for the position in an order.
  private mutating func fit(
    _ value: (property: String, expression: SQL), of member: AdoptedEntity, in place: AdoptionPlace
  ) -> [AdoptionFill.Column] {
    let (property, own) = (value.property, "\(member.name).\(value.property)")
    let former = place.adoption.entity(named: member.name)
    switch place.property(called: property) {
    case .attribute(let attribute)?:
      let type = former?.attribute(named: property)?.type
      guard type?.sqlType == attribute.type.sqlType else {
        obstacles.append(
          "\(own) is \(type?.rawValue ?? "a to-one") in the file and \(attribute.type.rawValue) in the "
            + "steps, which is stored differently. Declare it in this step as it is in the file, and write "
            + "the change into a later step.")
        return []
      }
      return [(attribute.name, value.expression)]
    case .toOne(let toOne)?:
      let relationship = former?.relationship(named: property)
      let target = relationship?.destination
      guard target?.lowercased() == toOne.destination.lowercased() else {
        obstacles.append(
          "\(own) \(target.map { "refers to \($0)" } ?? "is not a to-one") in the file, but refers to "
            + "\(toOne.destination) in the steps.")
        return []
      }
      let column: AdoptionFill.Column = (toOne.columnName, value.expression)
      guard let order = member.orders.first(where: { $0.toOne == property }) else { return [column] }
      if let name = place.model.orderColumn(of: toOne) {
        ordered.insert("\(toOne.destination).\(toOne.inverse ?? "")")
        return [column, (name, order.expression)]
      }
      if let inverse = relationship?.inverse {
        loseOrder("\(toOne.destination).\(inverse)", place.rows(of: member))
      }
      return [column]
    case nil:
      lose(
        own, rows: place.rows(of: member),
        because: "the steps have no such property"
          + Self.question(place.mistypings(of: property).map { "\(place.entity.name).\($0)" }, "column"))
      return []
    }
  }

  /// The columns that record the entity of each row, if the steps have such columns.
  private mutating func entities(in place: AdoptionPlace) -> [AdoptionFill.Column] {
    for member in place.source.below {
      if let found = place.entity(of: member) {
        guard place.model.root(of: found).name != place.entity.name else { continue }
        obstacles.append(
          "\(found.name) inherits from \(member.parent ?? place.entity.name) in the file, but not in the "
            + "steps. Keep it below \(place.entity.name) in this step, and write into a later step: set "
            + "parent of \(found.name) to \(found.parent ?? "none").")
      } else if member.rows > 0, place.kindName == nil {
        lose(
          member.name, rows: member.rows,
          because:
            "the steps have no such entity, so the objects would become objects of "
            + "\(place.closestEntity(for: member).name)")
      }
    }
    let kind = place.kindName.map { [($0, place.kinds { $0.name })] } ?? []
    guard place.model.isInHierarchy(place.entity) else { return kind }
    return kind + [(EntityColumn.name, place.kinds { place.closestEntity(for: $0).name })]
  }

  private mutating func add(_ links: AdoptedLinks, of adoption: Adoption, to model: Schema) {
    let name = "\(links.entity).\(links.relationship)"
    // The steps may declare the relationship in an ancestor.
    let named = model.entities.first { $0.name.lowercased() == links.entity.lowercased() }
    let line = named.map { [$0] + model.ancestors(of: $0).reversed() } ?? []
    guard
      let (entity, relationship) = line.lazy.compactMap({ entity in
        entity.relationships.first { $0.name.lowercased() == links.relationship.lowercased() }.map {
          (entity, $0)
        }
      }).first,
      let (table, isSource) = model.joinTable(of: relationship, in: entity)
    else { return lose(name, rows: links.rows, because: "the steps have no such many-to-many") }
    var columns: [AdoptionFill.Column] = [
      (isSource ? table.sourceColumn : table.targetColumn, links.own),
      (isSource ? table.targetColumn : table.sourceColumn, links.other),
    ]
    let ends: [(String, SQL?, String?)] = [
      (name, links.order, isSource ? table.sourceOrder : table.targetOrder),
      (
        "\(relationship.destination).\(relationship.inverse ?? "")", links.otherOrder,
        isSource ? table.targetOrder : table.sourceOrder
      ),
    ]
    for case (let end, let order?, let column) in ends {
      guard let column else {
        loseOrder(end, links.rows)
        continue
      }
      columns.append((column, order))
      ordered.insert(end == name ? "\(entity.name).\(relationship.name)" : end)
    }
    fills.append(
      AdoptionFill(
        name: name, source: links.table, target: table.name, columns: columns,
        condition: "\(links.own) IS NOT NULL AND \(links.other) IS NOT NULL", rows: links.rows))
  }
}
