// The app's own functions in a run: looked up before the transaction, called in it.

internal import CipherSQLite
private import Foundation

extension MigrationRunner {
  /// Refuses a run when the program lacks functions that the steps call.
  func checkTransforms(of work: MigrationWork) throws {
    guard let (step, operation, function) = work.missingTransform(in: set) else { return }
    if let misfit = set.transforms.misfit(function) { throw step.refused(operation.summary, because: misfit) }
    throw StoreError.transformMissing(step: step.number, name: step.name, transform: function.name)
  }

  /// Calls a function with the objects of its entity.
  func run(_ transform: SwiftTransform, _ model: Schema, of step: MigrationStep) throws -> TouchedColumns {
    guard let function = set.transforms.objects[transform.name] else {
      // Without rows of the entity, as in a new store, the function is not needed.
      let place = model.place(of: transform.entity)
      let rows = try connection.value("SELECT 1 FROM \(place.tableName)\(place.filter) LIMIT 1")
      guard rows != nil else { return TouchedColumns() }
      throw StoreError.transformMissing(step: step.number, name: step.name, transform: transform.name)
    }
    // SQL may have inserted rows before: objects that the function creates get ids above theirs.
    try raiseHighWaterMarks(model)
    let meta = MetaTable(connection: connection)
    defer { progress?.setUserInfoObject(nil, forKey: .storeIsTransforming) }
    return try function.run(
      TransformWork(
        transform: transform, model: model, connection: connection,
        storeID: try meta.value(.storeID)?.string.flatMap { UUID(uuidString: $0) },
        generation: try meta.value(.generation)?.int64
      ) { done, all in
        try checkCancelled()
        record.meter.reached(Double(done) / Double(max(1, all)))
        progress?.setUserInfoObject(
          TransformProgress(transform: transform.name, entity: transform.entity, done: done, all: all),
          forKey: .storeIsTransforming)
      })
  }

  /// Registers the SQL function that converts values (see ``Conversion``), and the one that issues ids.
  func registerConversions() throws {
    try registerIDs()
    let (table, failures) = (set.transforms.values, failures)
    try connection.register(function: Conversion.function, argumentCount: 5) { arguments in
      // SQL continues after a failure, with NULL.
      guard failures.isEmpty, case .text(let name) = arguments[0], case .text(let property) = arguments[1],
        let type = arguments[4].string.flatMap(AttributeType.init(rawValue:))
      else { return .null }
      let (row, call) = (arguments[3].int64 ?? 0, Conversion.Call(function: name, property: property))
      guard let convert = table[name] else {
        failures.note(.missing(name))
        return .null
      }
      do {
        let value = try call.value(type) { try convert(arguments[2]) }
        if value.isNull { failures.noteNil(call, row: row) }
        return value
      } catch {
        failures.note(.failed(TransformFailure("\(property) of row \(row): \(error)")))
        return .null
      }
    }
  }
}

extension ConversionFailures {
  /// Throws the error of the function that failed, and clears it. Returns if no function failed.
  func rethrow(_ step: MigrationStep) throws {
    switch take() {
    case nil: break
    case .failed(let failure): throw failure
    case .missing(let name):
      throw StoreError.transformMissing(step: step.number, name: step.name, transform: name)
    }
  }
}

extension MigrationWork {
  /// The first function that steps call and a set does not provide; nil for none.
  func missingTransform(in set: MigrationSet) -> (
    step: MigrationStep, operation: MigrationOperation, function: AppFunction
  )? {
    for step in steps.map(\.step) {
      for operation in step.operations {
        guard let function = operation.function, !set.transforms.covers(function) else { continue }
        return (step, operation, function)
      }
    }
    return nil
  }
}
