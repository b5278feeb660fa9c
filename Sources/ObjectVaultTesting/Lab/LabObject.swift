// An object of a lab's store, whose properties throw instead of keeping their errors.

public import ObjectVault

/// An object of a ``LabStore``: its properties are read by their names.
///
/// ```swift
/// let user = try new.object(ada)
/// let name: String = try user["name"]
/// let texts = try user[toMany: "statuses"].map { try $0["text"] as String }
/// ```
///
/// It shows what was committed when it was asked for. Not `Sendable`: it stays in the task that asked for it.
public struct LabObject {
  /// The object itself.
  public let object: DynamicObject
  // Without its context an object is nothing.
  private let context: ObjectContext
  private let names: VersionNames

  init(_ object: DynamicObject, _ context: ObjectContext, _ names: VersionNames) {
    (self.object, self.context, self.names) = (object, context, names)
  }

  /// Its id.
  public var id: DynamicID { object.id }

  /// An attribute, as a type that holds what the attribute's does.
  /// - Throws: ``CheckFailure`` for a name that its entity does not have at this version, with those that it has;
  ///   `StoreError.propertyMisused`, `StoreError.unreadableValue`; `SQLError`.
  public subscript<Value: AttributeValue>(name: String) -> Value {
    get throws { try told { object[name] } }
  }

  /// The object that a to-one leads to.
  /// - Throws: As the attributes.
  public subscript(toOne name: String) -> LabObject? {
    get throws { try told { object[toOne: name] }.map { LabObject($0, context, names) } }
  }

  /// The members of a to-many: in their order, or by their ids where they have none.
  /// - Throws: As the attributes.
  public subscript(toMany name: String) -> [LabObject] {
    get throws {
      if object.entityDescription?.relationship(named: name)?.isOrdered == true {
        return try told { object[ordered: name] }.map { LabObject($0, context, names) }
      }
      return try told { object[toMany: name] }.sorted { $0.id.rowID < $1.id.rowID }
        .map { LabObject($0, context, names) }
    }
  }

  /// Runs a getter, and throws what it could not.
  private func told<Result>(_ getter: () -> Result) throws -> Result {
    let (errors, values) = (context.faultErrors.count, context.unreadableValues.count)
    let result = getter()
    return try names.told {
      if context.faultErrors.count > errors { throw context.faultErrors[errors] }
      if context.unreadableValues.count > values { throw context.unreadableValues[values] }
      return result
    }
  }
}
