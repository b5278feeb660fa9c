// Where the rows of an adopted file go in the tables of some steps: entities and properties by their names, in which
// capitals do not count, because a file may not tell them.

internal import CipherSQLite

/// A table to be filled by a query.
struct AdoptionFill {
  /// How people call it: the entity, or the relationship.
  let name: String
  let source: String
  let target: String
  /// The columns, and what they are made of.
  let columns: [(name: String, expression: SQL)]
  /// Which rows are taken; nil for all.
  let condition: SQL?
  let rows: Int64

  /// The rows of the source.
  var select: SQL {
    let list = SQL.joined(columns.map(\.expression))
    let rows: SQL = condition.map { " WHERE \($0)" } ?? ""
    return "SELECT \(list) FROM \(SQLName(source)) AS s\(rows)"
  }

  /// Takes what ``select`` gives.
  var insert: SQL {
    let names = SQL.names(columns.map { SQLName($0.name) })
    return "INSERT INTO \(SQLName(target)) (\(names)) VALUES (\(parameters: columns.count))"
  }
}

/// How an adoption fits a model.
struct AdoptionFit {
  var fills: [AdoptionFill] = []
  var losses: [AdoptionLoss]
  var obstacles: [String]
  /// The highest id that was given out, by entity.
  var highestIDs: [String: Int64] = [:]
  /// The ordered to-manys of the steps whose order is taken, such as `Album.songs`.
  private var ordered: Set<String> = []

  init(_ adoption: Adoption, _ model: Schema) {
    (losses, obstacles) = (adoption.losses, adoption.obstacles)
    for entity in adoption.entities { add(entity, of: adoption, to: model) }
    for links in adoption.links { add(links, of: adoption, to: model) }
    if fills.isEmpty, obstacles == adoption.obstacles, !(adoption.entities.isEmpty && model.entities.isEmpty)
    {
      // Whatever was allowed: an empty store is nobody's rows.
      obstacles = [Self.nothingFits(adoption, model)]
      return
    }
    for entity in model.entities {
      for relationship in entity.relationships
      where relationship.isOrdered && !ordered.contains("\(entity.name).\(relationship.name)") {
        obstacles.append(
          "\(entity.name).\(relationship.name) is ordered in the steps, and the file has no order of it. Leave it in this "
            + "step without, and write into a later one: make \(entity.name).\(relationship.name) ordered.")
      }
    }
  }

  private static func nothingFits(_ adoption: Adoption, _ model: Schema) -> String {
    let names = { (names: [String]) in
      names.isEmpty ? "none" : names.prefix(3).joined(separator: ", ") + (names.count > 3 ? " and more" : "")
    }
    return
      "none of its tables is an entity of the steps: the file has \(names(adoption.entities.map(\.name))), the steps have "
      + "\(names(model.entities.map(\.name))). Take the steps that are the file's own: store-migrate schema import writes them"
  }

  /// What the steps say of columns otherwise than the adoption does: the entities that to-ones lead to, and nothing for numbers.
  /// A file of Core Data's does not tell.
  static func toOnes(of model: Schema, otherThan adoption: Adoption) -> [String: String] {
    guard adoption.origin == .coreData else { return [:] }
    let entities = Set(adoption.entities.map { $0.name.lowercased() })
    var toOnes: [String: String] = [:]
    for source in adoption.entities {
      guard let entity = model.entities.first(where: { $0.name.lowercased() == source.name.lowercased() }),
        let former = adoption.schema.entity(named: source.name)
      else { continue }
      for property in source.values.map(\.property) {
        let found = former.relationship(named: property)?.destination
        let isNamed = { (name: String) in name.lowercased() == property.lowercased() }
        if let toOne = entity.relationships.first(where: { isNamed($0.name) && !$0.isToMany }) {
          guard found?.lowercased() != toOne.destination.lowercased(),
            entities.contains(toOne.destination.lowercased()),
            found != nil || former.attribute(named: property)?.type == .int
          else { continue }
          toOnes["\(source.name).\(property)"] = toOne.destination
        } else if found != nil, entity.attributes.contains(where: { isNamed($0.name) && $0.type == .int }) {
          toOnes["\(source.name).\(property)"] = ""
        }
      }
    }
    return toOnes
  }

  /// What is taken by it, of what the file has.
  func taken(of adoption: Adoption) -> Adoption {
    let tables = fills.map { Adoption.Table(source: $0.source, target: $0.name, rows: $0.rows) }
    return Adoption(
      origin: adoption.origin, schema: adoption.schema, tables: tables.sorted { $0.source < $1.source },
      notes: adoption.notes, losses: losses, obstacles: obstacles, entities: adoption.entities,
      links: adoption.links)
  }

  private mutating func lose(_ name: String, _ rows: Int64, _ reason: String) {
    losses.append(.init(name: name, rows: rows, reason: reason))
  }

  private mutating func loseOrder(_ name: String, _ rows: Int64) {
    lose("\(name).order", rows, "\(name) has no order in the steps, and has one in the file")
  }

  private mutating func add(_ source: AdoptedEntity, of adoption: Adoption, to model: Schema) {
    guard let entity = model.entities.first(where: { $0.name.lowercased() == source.name.lowercased() })
    else {
      return lose(source.name, source.rows, "the steps have no such entity")
    }
    if let parent = entity.parent {
      obstacles.append(
        "\(entity.name) inherits from \(parent) in the steps, and has a table of its own in the file. Leave it in this step "
          + "without a parent, and write into a later one: set parent of \(entity.name) to \(parent).")
      return
    }
    var columns: [(name: String, expression: SQL)] = [("id", source.id)]
    for (property, expression) in source.values {
      let own = "\(source.name).\(property)"
      if let attribute = entity.attributes.first(where: { $0.name.lowercased() == property.lowercased() }) {
        let former = adoption.schema.entity(named: source.name)?.attribute(named: property)
        guard former?.type.sqlType == attribute.type.sqlType else {
          obstacles.append(
            "\(own) is \(former?.type.rawValue ?? "a to-one") in the file and \(attribute.type.rawValue) in the steps, which is "
              + "stored otherwise. Leave it in this step as it is, and write the change into a later one.")
          continue
        }
        columns.append((attribute.name, expression))
      } else if let toOne = entity.relationships.first(where: {
        $0.name.lowercased() == property.lowercased()
      }),
        !toOne.isToMany
      {
        let former = adoption.schema.entity(named: source.name)?.relationship(named: property)
        let target = former?.destination
        guard target?.lowercased() == toOne.destination.lowercased() else {
          obstacles.append(
            "\(own) leads to \(target ?? "nothing") in the file and to \(toOne.destination) in the steps.")
          continue
        }
        columns.append((toOne.columnName, expression))
        guard let order = source.orders.first(where: { $0.toOne == property }) else { continue }
        if let column = model.orderColumn(of: toOne) {
          columns.append((column, order.expression))
          ordered.insert("\(toOne.destination).\(toOne.inverse ?? "")")
        } else if let inverse = former?.inverse {
          loseOrder("\(toOne.destination).\(inverse)", source.rows)
        }
      } else {
        lose(own, source.rows, "the steps have no such property")
      }
    }
    highestIDs[entity.name] = source.highestID
    fills.append(
      AdoptionFill(
        name: entity.name, source: source.table, target: entity.name, columns: columns, condition: nil,
        rows: source.rows))
  }

  private mutating func add(_ links: AdoptedLinks, of adoption: Adoption, to model: Schema) {
    let name = "\(links.entity).\(links.relationship)"
    guard let entity = model.entities.first(where: { $0.name.lowercased() == links.entity.lowercased() }),
      let relationship = entity.relationships.first(where: {
        $0.name.lowercased() == links.relationship.lowercased()
      }),
      let (table, isSource) = model.joinTable(of: relationship, in: entity)
    else { return lose(name, links.rows, "the steps have no such many-to-many") }
    var columns: [(name: String, expression: SQL)] = [
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
