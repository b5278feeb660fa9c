// Importing JSON into objects.

internal import CipherSQLite
public import Foundation

extension ObjectContext {
  /// Inserts and updates objects from JSON: one object, or an array of them, with nested objects.
  ///
  /// ```swift
  /// let text = #"[{"name": "Ann", "statuses": [{"text": "Hi"}]}]"#
  /// let json = Data(text.utf8)
  /// let imported = try context.importJSON(json, into: User.self)
  /// let users = imported.objects
  /// ```
  ///
  /// A key of the JSON is the name of a property, or what ``AttributeOption/key(_:)`` and
  /// ``JSONMapping/names`` say. Properties without a key in the JSON stay as they are; `null` sets nil.
  ///
  /// **Objects** are found by the first unique attribute of their entity (``JSONMapping/identities``): a
  /// stored object, a pending one, or an earlier one of the same JSON is updated, and otherwise one is
  /// inserted. **Relationships** have a nested object, or the value of the target's unique attribute:
  /// `"user": 17`. Such a target must exist, in the store or anywhere in the JSON. The array of a to-many
  /// replaces its members. **Values**: numbers, texts and booleans; `Data` is Base64, a `Codable` structure
  /// is JSON, a `Decimal` may also be a text, a `Bool` also 0 or 1, and dates follow ``JSONMapping/dates``.
  ///
  /// The JSON is decoded, and all objects that it names are found, before anything changes. The changes are
  /// pending until the save: validation, hooks, undo (as one group) and observers work as for changes of
  /// single objects. Takes one query for each 500 objects of an entity, one for each to-many of found
  /// objects, and memory for the JSON and its objects. The JSON may have 512 levels. If an object has the
  /// same key twice, one of the two values is used; a number may have 38 digits.
  /// - Parameters:
  ///   - json: The JSON, in UTF-8.
  ///   - type: The class of the objects of the topmost level. An object of a subclass is found as well.
  ///   - mapping: Keys, dates, and how objects are found.
  /// - Returns: The objects of the topmost level, and what was done.
  /// - Throws: ``StoreError/jsonRefused(place:reason:)`` with the place in the JSON;
  ///   ``StoreError/keyTaken(entity:properties:holder:rowID:)``,
  ///   ``StoreError/notUnique(entity:properties:keys:)`` for ``JSONMapping/identities``,
  ///   ``StoreError/propertyMisused(entity:property:reason:)`` for two properties with one key;
  ///   ``StoreError/objectGone(entity:rowID:)`` for a row that was deleted meanwhile;
  ///   ``StoreError/unknownEntity(name:)``, ``StoreError/readOnlyContext``;
  ///   ``StoreError/noEntity(name:similar:)`` and ``StoreError/noProperty(entity:property:similar:)`` for
  ///   ``JSONMapping/identities``. After a ``SQLError``, or a `CancellationError` in a write, some changes
  ///   may be pending; after all others none is.
  @discardableResult
  public func importJSON<Object: ManagedObject>(
    _ json: Data, into type: Object.Type, mapping: JSONMapping = JSONMapping()
  ) throws -> Imported<Object> {
    guard let entity = entity(of: type) else { throw StoreError.unknownEntity(name: "\(type)") }
    return try importJSON(json, into: entity, mapping)
  }

  /// Inserts and updates objects from JSON in a store that was opened without classes.
  ///
  /// Works as the call with a class. Keys are names, or follow ``JSONMapping/names``.
  /// - Parameters:
  ///   - json: The JSON, in UTF-8.
  ///   - name: The entity of the objects of the topmost level.
  ///   - mapping: Keys, dates, and how objects are found.
  /// - Returns: The objects of the topmost level, and what was done.
  /// - Throws: ``StoreError/noEntity(name:similar:)``, ``StoreError/openedWithClasses(entity:)``; otherwise
  ///   as with a class.
  @discardableResult
  public func importJSON(
    _ json: Data, entity name: String, mapping: JSONMapping = JSONMapping()
  ) throws -> Imported<DynamicObject> {
    try importJSON(json, into: core.entity(named: name), mapping)
  }

  private func importJSON<Object: ManagedObject>(
    _ json: Data, into entity: EntityMapping, _ mapping: JSONMapping
  ) throws -> Imported<Object> {
    if let refusal { throw refusal }
    let reading = try JSONReading(mapping, of: core.mapping)
    let decoded: DecodedObjects
    do {
      decoded = try JSONDecoder().decode(
        DecodedObjects.self, from: json, configuration: .init(entity: entity, reading: reading))
    } catch DecodingError.dataCorrupted(let context) {
      throw StoreError.jsonRefused(
        place: context.codingPath.shownJSONPath,
        reason: "it cannot be read as JSON. \(Self.syntaxError(of: json) ?? context.debugDescription)")
    }
    return try oneUndo {
      var work = ObjectImport(self, reading)
      let (objects, report) = try work.run(decoded.objects)
      return Imported(objects: objects.compactMap { $0 as? Object }, report: report)
    }
  }

  /// Returns where the syntax of JSON is wrong: the decoder does not report it.
  private static func syntaxError(of json: Data) -> String? {
    do { _ = try JSONSerialization.jsonObject(with: json, options: .fragmentsAllowed) } catch {
      return (error as NSError).userInfo["NSDebugDescription"] as? String
    }
    return nil
  }
}
