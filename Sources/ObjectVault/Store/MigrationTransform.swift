// The functions of an app that its migration steps call: `transform swift NAME on E` and
// `retype E.a to TYPE using swift NAME`.

internal import CipherSQLite

/// A function of the app that migration steps call by its name.
///
/// It is for conversions that SQL cannot express. The step has the line
/// `transform swift splitName on User batch 500`, and the app supplies the function:
///
/// ```swift
/// let embedded = try MigrationSet.embedded(AppMigrations.steps)
/// let steps = embedded.transforming(by: [
///   .objects("splitName") { user, context in
///     let parts = (user["name"] as String).split(separator: " ", maxSplits: 1)
///     user["firstName"] = String(parts.first ?? "")
///     user["lastName"] = String(parts.dropFirst().first ?? "")
///   },
///   .values("cents") { (price: Double) in Int((price * 100).rounded()) },
/// ])
/// ```
///
/// The function works on the model of its step, even years later and whatever the app's classes are
/// called by then: objects are ``DynamicObject``s, whose properties are accessed by names. It runs inside
/// the transaction of the steps, on the thread that migrates. If it throws, the transaction is rolled
/// back, and the error names the step, the entity and the row. A step whose function is missing is
/// refused before anything runs (``StoreError/transformMissing(step:name:transform:)``).
public struct MigrationTransform: Sendable {
  private enum Function: Sendable {
    case objects(ObjectTransform)
    case values(TransformTable.Conversion)
  }

  /// The name by which steps call it.
  public let name: String
  private let function: Function

  /// Creates a function that is called with each object of an entity, in the order of their ids, for
  /// `transform swift NAME on E`.
  ///
  /// It may read and write the object's properties, follow relationships, and fetch, create and delete
  /// objects of any entity of the model at that point. Its changes are saved after each batch, under the
  /// rules of the model: delete rules, both ends of relationships, required and unique properties. Only
  /// one batch is in memory. Objects that it creates are not visited, and no object can be used after its
  /// batch.
  ///
  /// If the step declares what it `reads` or `writes`, it is an error to read any other property by its
  /// name or to change anything else. Conditions of fetches are not checked against the declaration, nor
  /// are reads of objects that the function itself created. Moving members of an ordered relationship
  /// in place, as `swapAt` does, also reads the relationship.
  /// - Parameters:
  ///   - name: The name by which steps call it.
  ///   - body: Gets the object, and the context that saves the batch. It may be called again for the same
  ///     rows when a failed migration is tried again, so it should change nothing outside the store.
  public static func objects(
    _ name: String, _ body: @escaping @Sendable (DynamicObject, ObjectContext) throws -> Void
  ) -> MigrationTransform {
    MigrationTransform(name: name, function: .objects(ObjectTransform(body: body)))
  }

  /// Creates a function that converts a value, for `retype E.a to TYPE using swift NAME`.
  ///
  /// nil stays nil, unless `Old` is optional. The result must fit the attribute's new type. Each result
  /// is checked for the storage class of the type (a whole number fits any numeric type); the range and
  /// form are checked afterwards for all rows. nil for a required attribute fails the step.
  /// - Parameters:
  ///   - name: The name by which steps call it.
  ///   - body: Gets a value of the attribute's former type. It is called once for each row, in no
  ///     particular order.
  public static func values<Old: AttributeValue & SendableMetatype, New: AttributeValue & SendableMetatype>(
    _ name: String, _ body: @escaping @Sendable (Old) throws -> New
  ) -> MigrationTransform {
    MigrationTransform(
      name: name,
      function: .values { stored in
        if stored.isNull, !Old.isOptionalAttribute { return .null }
        guard let old = Old(stored: stored) else {
          throw UnstorableValue(description: "it is not a valid \(Old.attributeType.rawValue)")
        }
        return try body(old).stored()
      })
  }

  fileprivate func add(to table: inout TransformTable) {
    switch function {
    case .objects(let transform): table.objects[name] = transform
    case .values(let conversion): table.values[name] = conversion
    }
  }
}

extension MigrationSet {
  /// Returns these steps with functions that they call.
  /// - Parameter transforms: The functions. If two have the same name, the later one is used.
  /// - Returns: The steps with the functions.
  public func transforming(by transforms: [MigrationTransform]) -> MigrationSet {
    var set = self
    for transform in transforms { transform.add(to: &set.transforms) }
    return set
  }

  /// Returns these steps with the functions of another set.
  package func transforming(as other: MigrationSet?) -> MigrationSet {
    var set = self
    if let other { set.transforms.merge(other.transforms) }
    return set
  }
}

extension Store.Migrations {
  /// Returns these steps with functions that they call.
  /// - Parameter transforms: The functions. If two have the same name, the later one is used.
  /// - Returns: The steps with the functions.
  public func transforming(by transforms: [MigrationTransform]) -> Store.Migrations {
    var migrations = self
    migrations.transforms += transforms
    return migrations
  }
}
