// The operations `create raw view NAME { SQL }`, `create raw trigger NAME { SQL }`, `create raw index
// NAME unique { SQL }` and `drop raw view NAME`. MigrationCompiler+RawObjects decides when the objects
// are created again.

internal import CipherSQLite

struct CreateRawObject: TableOperation {
  let object: RawObject

  static let forms = [
    OperationForm(block: "create", "raw") { parser in
      var head = try parser.head()
      try head.expect("create")
      try head.expect("raw")
      let (kind, name) = try head.rawObject()
      let isUnique = kind == .index && head.take("unique")
      let start = parser.index
      let sql = try parser.block(from: head.brace(after: "create raw \(kind.rawValue) \(name)"))
      let object = RawObject(kind, name, isUnique: isUnique, sql: sql)
      if let problem = object.problem {
        throw parser.failure(
          problem, hint: "write what follows the name in SQLite's CREATE statement", line: start)
      }
      return .createRawObject(object)
    }
  ]
  var text: OperationText { .sql("create \(object.heading)", object.sql) }
  var subject: OperationSubject { .rawObject }
  var traits: OperationTraits {
    OperationTraits(
      rewritesValues: false, completesInverses: false, breaksReaders: object.isUnique || refusesWrites,
      hasForeignSQL: true)
  }
  var refusesLate: Bool { object.isUnique }
  /// Whether the object is a trigger that may abort a write of an older program.
  private var refusesWrites: Bool {
    object.kind == .trigger && SQLScanner.words(object.sql).contains("raise")
  }

  func change(_ model: inout Schema) throws(ModelError) {
    guard model.rawObject(named: object.name) == nil else {
      throw ModelError(reason: "\(object.name) already exists")
    }
    if let problem = object.problem { throw ModelError(reason: problem) }
    model.rawObjects.append(object)
    model.rawObjects.sort { $0.name < $1.name }
  }

  func needsOwnSegment(after mapping: SegmentMapping, in model: Schema) -> Bool { false }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) {}
  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback {
    .operations([.dropRawObject(object.kind, object.name)])
  }

  func remarks(_ place: OperationContext) -> [OperationRemark] {
    let plain = SQLTemplate.plainNames(object.sql)
    var remarks = place.formerNames(in: object.sql)
    remarks += place.model.entities.filter { plain.contains($0.name.lowercased()) }.map { entity in
      (
        .rawNamesPlain,
        "\(entity.name) has no dollar sign, so it does not follow renamings; write: $\(entity.name)"
      )
    }
    let existing = SQLTemplate.words(object.sql).subtracting(place.new.map { $0.lowercased() })
    if object.isUnique, place.before.entities.contains(where: { existing.contains($0.name.lowercased()) }) {
      remarks.append(
        (.uniqueOnExisting, "the step fails if two rows have equal values; check for them first"))
    }
    if object.kind == .trigger, !TriggerWrite.all(in: object.sql).isEmpty {
      remarks.append(
        (
          .triggerWrites,
          "its changes are in no change set, and objects in memory have them only after they are read again"
        ))
    }
    return remarks
  }
}

struct DropRawObject: TableOperation {
  let kind: RawObject.Kind
  let name: String

  static let forms = [
    OperationForm("drop", "raw") { line in
      let (kind, name) = try line.rawObject()
      return [.dropRawObject(kind, name)]
    }
  ]
  var text: OperationText { .line("drop raw \(kind.rawValue) \(name)") }
  var subject: OperationSubject { .rawObject }
  var traits: OperationTraits {
    // Older programs may read the view or rely on the trigger.
    OperationTraits(
      rewritesValues: false, completesInverses: false, breaksReaders: kind != .index,
      hasForeignSQL: false)
  }

  func change(_ model: inout Schema) throws(ModelError) {
    guard let object = model.rawObject(named: name) else {
      let hint = didYouMean(nearest(name, among: model.rawObjects.filter { $0.kind == kind }.map(\.name)))
      throw ModelError(reason: "there is no raw \(kind.rawValue) \(name)\(hint.map { "; \($0)" } ?? "")")
    }
    guard object.kind == kind else {
      throw ModelError(reason: "\(name) is a \(object.kind.rawValue); write: drop raw \(object.title)")
    }
    model.rawObjects.removeAll { $0.name == name }
  }

  func needsOwnSegment(after mapping: SegmentMapping, in model: Schema) -> Bool { false }
  func fill(_ mapping: inout SegmentMapping, in model: Schema) {}
  func rollback(from model: Schema, _ mapping: SegmentMapping) -> MigrationRollback {
    .operations(model.rawObject(named: name).map { [.createRawObject($0)] } ?? [])
  }
}

extension MigrationLine {
  /// Parses `view NAME`, `trigger NAME` or `index NAME`.
  fileprivate mutating func rawObject() throws -> (RawObject.Kind, String) {
    let kind = RawObject.Kind(rawValue: try kind(["view", "trigger", "index"])) ?? .view
    return (kind, try name("the \(kind.rawValue)'s name"))
  }
}
