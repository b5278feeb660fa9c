// Objects of entities without a Swift class in this program. They have rows, overlays and rules like other
// objects. Their properties are accessed by names: attributes in ManagedObject+Names, relationships in
// DynamicObject+Relationships.

internal import CipherSQLite

/// An object of any entity, in a store that was opened by its own model, without Swift classes.
///
/// ```swift
/// let store = try await Store.open(at: url, key: .passphrase("correct horse"))
/// try await store.write { context in
///   let user = try context.insert(entity: "User") { $0["name"] = "Binger" }
///   try context.insert(entity: "Status") {
///     $0["text"] = "Hello"
///     $0[toOne: "user"] = user
///   }
/// }
/// ```
///
/// Subscripts replace the properties of classes and, like these, cannot throw. A wrong name or type is an
/// error in ``ObjectContext/faultErrors``, which the next save throws. For names, values and objects that
/// come from outside, use the methods ``ManagedObject/value(_:)``, ``ManagedObject/set(_:to:)``,
/// ``ManagedObject/set(_:toOne:)``, ``ManagedObject/add(_:to:)`` and ``ManagedObject/remove(_:from:)``: they
/// throw every error, and after an error the object is unchanged.
public final class DynamicObject: ManagedObject {
  // Set once, by the context that creates the object. The object keeps it, so that messages can name the
  // entity after the store is closed.
  private final var kept: EntityMapping?
  override var origin: EntityMapping? { kept }

  package static func make(_ entity: EntityMapping) -> DynamicObject {
    let object = making { DynamicObject() }
    object.kept = entity
    return object
  }

  /// The name of its entity; empty for an object that was created by its own initializer.
  public var entityName: String { origin?.name ?? "" }

  /// The type of the object's id.
  public typealias ID = DynamicID

  /// The object's id: temporary until the first save, then final. Inside ``Store/write(_:)`` it is final
  /// at once.
  public var id: DynamicID {
    let id = visibleRowID
    return DynamicID(entity: entityName, rowID: id, of: mark(of: id))
  }
}

extension DynamicObject: Identifiable {}
