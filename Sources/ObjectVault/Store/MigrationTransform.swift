// The functions of an app that its steps call: `transform swift NAME on E` and `retype E.a to TYPE using swift NAME`.

internal import CipherSQLite

/// A function of the app that migration steps call by its name.
///
/// What SQL cannot say, Swift can: a step says `transform swift splitName on User batch 500`, and the app gives its steps
/// the function:
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
/// The function meets the model of its step, years later too, whatever the app's classes are called by then: objects are
/// ``DynamicObject``s, reached by names. It runs inside the transaction of all steps, on the thread that migrates; what it
/// throws undoes them all, with step, entity and row named. A step whose function is not given is refused before anything
/// begins (``StoreError/transformMissing(step:name:transform:)``).
public struct MigrationTransform: Sendable {
  private enum Function: Sendable {
    case objects(ObjectTransform)
    case values(TransformTable.Conversion)
  }

  /// What steps call it.
  public let name: String
  private let function: Function

  /// A function that is called with each object of an entity, in the order of their ids: for `transform swift NAME on E`.
  ///
  /// It may read and write the object's properties, follow relationships, fetch, make and delete objects of any entity of
  /// the model at that point. What it changes is saved behind each batch, by the rules of the model: delete rules, both
  /// ends of relationships, required and unique properties. Memory holds one batch. Objects that it makes are not visited,
  /// and none is of use behind its batch. Where the step says what it `reads` or
  /// `writes`, any other property that is read by its name, and anything else that changes, is an error; conditions of fetches
  /// are not held against it, nor what is read of objects that it has made itself. Who moves members of an ordered
  /// relationship reads it.
  /// - Parameters:
  ///   - name: What steps call it.
  ///   - body: Gets the object, and the context that the batch is saved by. May be called again for the same rows, when a
  ///     migration that failed is tried again: it should change nothing outside of the store.
  public static func objects(
    _ name: String, _ body: @escaping @Sendable (DynamicObject, ObjectContext) throws -> Void
  ) -> MigrationTransform {
    MigrationTransform(name: name, function: .objects(ObjectTransform(body: body)))
  }

  /// A function that makes a value of another: for `retype E.a to TYPE using swift NAME`.
  ///
  /// nil stays nil, unless `Old` is optional. What it gives has to be of the attribute's new type: of each value it is asked
  /// whether it is of the kind that the type is stored as (a whole number is any number), and afterwards, of all rows,
  /// whether it is in the type's range and form. nil for a required attribute ends the step.
  /// - Parameters:
  ///   - name: What steps call it.
  ///   - body: Gets a value of the attribute's former type. Is called once for each row, in no certain order.
  public static func values<Old: AttributeValue & SendableMetatype, New: AttributeValue & SendableMetatype>(
    _ name: String, _ body: @escaping @Sendable (Old) throws -> New
  ) -> MigrationTransform {
    MigrationTransform(
      name: name,
      function: .values { stored in
        if stored.isNull, !Old.isOptionalAttribute { return .null }
        guard let old = Old(stored: stored) else {
          throw UnstorableValue(description: "it holds no \(Old.attributeType.rawValue)")
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
  /// The same steps with functions that they call; of two of one name the later one counts.
  public func transforming(by transforms: [MigrationTransform]) -> MigrationSet {
    var set = self
    for transform in transforms { transform.add(to: &set.transforms) }
    return set
  }

  /// The same steps with the functions of others.
  package func transforming(as other: MigrationSet?) -> MigrationSet {
    var set = self
    if let other { set.transforms.merge(other.transforms) }
    return set
  }
}

extension Store.Migrations {
  /// The same steps with functions that they call.
  public func transforming(by transforms: [MigrationTransform]) -> Store.Migrations {
    var migrations = self
    migrations.transforms += transforms
    return migrations
  }
}
