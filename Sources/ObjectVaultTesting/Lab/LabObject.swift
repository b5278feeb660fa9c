// An object of a lab's store, whose properties throw their errors instead of recording them.

public import ObjectVault

/// An object of a ``LabStore``, whose properties are read by their names.
///
/// ```swift
/// let user = try new.object(ada)
/// let name: String = try user["name"]
/// let texts = try user[toMany: "statuses"].map { try $0["text"] as String }
/// ```
///
/// It shows what was committed when it was read. It is not `Sendable`: use it in the task that obtained
/// it.
public struct LabObject {
  /// The object itself.
  public let object: DynamicObject
  // Retained, because an object cannot be read without its context.
  private let context: ObjectContext
  private let names: VersionNames

  init(_ object: DynamicObject, in context: ObjectContext, names: VersionNames) {
    (self.object, self.context, self.names) = (object, context, names)
  }

  /// The id of the object.
  public var id: DynamicID { object.id }

  /// Returns the value of an attribute, as a type that can represent it.
  /// - Parameter name: The name of the attribute at this version.
  /// - Throws: ``CheckFailure`` for a name that the entity does not have at this version, with the names
  ///   that it has; `StoreError.propertyMisused`, `StoreError.unreadableValue`; `SQLError`.
  public subscript<Value: AttributeValue>(name: String) -> Value {
    get throws { try told { object[name] } }
  }

  /// Returns the object that a to-one refers to; nil when it refers to none.
  /// - Parameter name: The name of the relationship at this version.
  /// - Throws: The errors of reading an attribute.
  public subscript(toOne name: String) -> LabObject? {
    get throws { try told { object[toOne: name] }.map { LabObject($0, in: context, names: names) } }
  }

  /// Returns the members of a to-many in their order; those without an order are sorted by their ids.
  /// - Parameter name: The name of the relationship at this version.
  /// - Throws: The errors of reading an attribute.
  public subscript(toMany name: String) -> [LabObject] {
    get throws {
      if object.entityDescription?.relationship(named: name)?.isOrdered == true {
        return try told { object[ordered: name] }.map { LabObject($0, in: context, names: names) }
      }
      return try told { object[toMany: name] }.sorted { $0.id.rowID < $1.id.rowID }
        .map { LabObject($0, in: context, names: names) }
    }
  }

  /// Runs a getter, and throws the error that it recorded in the context.
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
