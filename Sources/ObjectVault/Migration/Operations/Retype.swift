// The operations `retype E.a to TYPE`, `… using (SQL)` and `… using swift NAME`.

internal import CipherSQLite

struct Retype: TableOperation {
  /// How the new values are computed from the former ones.
  enum Way {
    case itself
    case sql(String)
    case swift(String)
  }

  let entity, name: String
  let type: AttributeType
  let way: Way

  static let forms = [
    OperationForm("retype") { line in
      let (entity, name) = try line.property()
      try line.expect("to")
      let type = try line.type()
      guard line.take("using") else { return [.retype(entity, name, to: type, using: nil)] }
      if line.take("swift") {
        return [.retypeBySwift(entity, name, to: type, function: try line.name("the function's name"))]
      }
      return [.retype(entity, name, to: type, using: try line.expression(after: "using"))]
    }
  ]
  var text: OperationText {
    let using =
      switch way {
      case .itself: ""
      case .sql(let sql): " using (\(sql))"
      case .swift(let function): " using swift \(function)"
      }
    return .line("retype \(entity).\(name) to \(type.rawValue)\(using)")
  }
  var subject: OperationSubject { .changed(entity, name) }
  var traits: OperationTraits {
    OperationTraits(
      rewritesValues: isComputed, completesInverses: false, breaksReaders: true,
      hasForeignSQL: hasSQL)
  }
  var function: AppFunction? {
    if case .swift(let name) = way { AppFunction(name: name, entity: entity, takesValues: true) } else { nil }
  }
  func missingStatement(_ engine: Engine) -> String? { "ALTER TABLE for this change" }
  var refusesLate: Bool { isComputed }
  // Only for this expression: any other would have to be evaluated for every row.
  var fittingType: AttributeType? {
    if case .sql("$\(entity).\(name)") = way { type } else { nil }
  }

  private var hasSQL: Bool { if case .sql = way { true } else { false } }
  private var isComputed: Bool { if case .itself = way { false } else { true } }

  // MARK: The model

  func change(_ model: inout Schema) throws(ModelError) {
    try model.changeAttribute(of: entity, named: name) { attribute throws(ModelError) in
      guard isComputed || attribute.type.converts(to: type) else {
        throw ModelError(
          reason:
            "\(attribute.type.rawValue) cannot be converted to \(type.rawValue) automatically; state how: "
            + "using (SQL)")
      }
      attribute.type = type
      // The default stays if it is a value of the new type as well.
      if attribute.defaultValue?.problem(for: type) != nil { attribute.defaultValue = nil }
      attribute.normalizeDefault()
    }
  }

  // MARK: The file

  func needsOwnSegment(after mapping: SegmentMapping, in model: Schema) -> Bool {
    if mapping.isNew(entity, property: name) { return true }
    if case .sql(let sql) = way { return mapping.changes(wordsOf: sql) }
    return false
  }

  func fill(_ mapping: inout SegmentMapping, in model: Schema) throws(ModelError) {
    switch way {
    case .sql(let sql):
      let expression = try SQLNames(model: model).resolved(
        expression: sql, of: entity)
      if SQLScanner.hasWindow(expression), let owner = model.entity(named: entity), model.isInHierarchy(owner)
      {
        throw ModelError(
          reason:
            "OVER would read the rows of all entities that share a table with \(entity); use a query "
            + "instead, or transform sql, both with WHERE _entity = '\(entity)'")
      }
      guard mapping.column(entity, property: name) != nil else { return }
      mapping.express(entity, property: name, as: mapping.ofOwnRows(expression, of: entity))
    case .itself:
      guard let column = mapping.column(entity, property: name) else { return }
      let former = model.entity(named: entity)?.attribute(named: name)?.type
      // With equal storage the values stay as they are, and the table need not be rebuilt. Values that
      // the new type does not allow are still found, by the check after every expression.
      let isSame = former?.sqlType == type.sqlType
      mapping.express(entity, property: name, as: isSame ? column : "CAST(\(column) AS \(type.sqlType))")
    case .swift(let function):
      guard let column = mapping.column(entity, property: name) else { return }
      let call = Conversion.Call(function: function, property: "\(entity).\(name)")
      mapping.express(
        entity, property: name, as: mapping.ofOwnRows(Conversion.sql(call, of: column, to: type), of: entity))
    }
  }

  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback {
    guard let former = model.entity(named: entity)?.attribute(named: name), !isComputed else {
      return .none(reason: "the former values are lost")
    }
    let restored: [MigrationOperation] = [.setDefault(entity, name, former.defaultValue)]
    if type.converts(to: former.type) {
      return .operations([.retype(entity, name, to: former.type, using: nil)] + restored)
    }
    guard type.integerRange != nil, former.type.integerRange != nil else {
      return .none(reason: "not every \(type.rawValue) is a valid \(former.type.rawValue)")
    }
    // Both are integer types. Values that are too large for the former type are refused when the column's
    // types are checked.
    return .operations([.retype(entity, name, to: former.type, using: "$\(entity).\(name)")] + restored)
  }

  // MARK: Reviews

  func advice(in model: Schema) -> String? {
    guard case .sql = way else { return nil }
    return
      "\(entity).\(name): review the expression that converts it to \(type.rawValue): this draft turns "
      + "invalid values into 0 or cuts them, without an error"
  }

  func remarks(_ place: OperationContext) -> [OperationRemark] {
    if case .swift = way { return [] }
    guard let old = place.model.entity(named: entity)?.attribute(named: name)?.type, !old.converts(to: type)
    else { return [] }
    return [
      (
        .narrows,
        "not every \(old.rawValue) is a valid \(type.rawValue); "
          + (isComputed
            ? "CAST turns invalid values into 0, without an error" : "the step fails on an invalid value")
      )
    ]
  }
}
