// How objects and JSON correspond: the names of keys, the form of dates, and how objects are found.

public import CipherSQLite

/// How the properties of objects correspond to keys and values of JSON.
///
/// ```swift
/// var mapping = JSONMapping()
/// mapping.names = .snakeCase
/// mapping.dates = .secondsSince1970
/// let json = Data(#"{"name": "Ann", "screen_name": "a"}"#.utf8)
/// try context.importJSON(json, into: User.self, mapping: mapping)
/// ```
///
/// To give one property another key, use its option: `@Attribute(.key("handle")) var screenName: String`.
public struct JSONMapping: Sendable {
  /// The keys of properties without the option ``AttributeOption/key(_:)``.
  public enum Names: Sendable, Hashable {
    /// The key is the name of the property.
    case declared
    /// The key is the name in lower case, with `_` between words: `screen_name` for `screenName`, `remote_id`
    /// for `remoteID`.
    case snakeCase
  }

  /// What an import does with keys that belong to no property.
  public enum UnknownKeys: Sendable, Hashable {
    /// They are counted in ``ImportReport/unknownKeys``.
    case counted
    /// The import is refused.
    case refused
  }

  /// The keys of properties without a key of their own. Default ``Names/declared``.
  public var names = Names.declared
  /// The form of dates. Default `.iso8601`: an export writes `2026-11-20T20:15:02.500Z`, and an import also
  /// accepts dates without a fraction, without a time, or with an offset.
  public var dates = DateStrategy.iso8601
  /// What an import does with keys that belong to no property. Default ``UnknownKeys/counted``.
  public var unknownKeys = UnknownKeys.counted
  /// The unique attribute by which an import finds the objects of an entity, by the entity's name. An entry
  /// holds for the subentities, too. Default: the entity's first unique attribute. Objects of an entity
  /// without one are always inserted. The import refuses the name of an entity that the model does not have.
  public var identities: [String: String] = [:]

  /// Creates the default mapping.
  public init() {}
}

extension JSONMapping.Names {
  /// Returns the key of a property.
  func key(of name: String) -> String {
    guard self == .snakeCase else { return name }
    var key = ""
    let letters = Array(name)
    for (index, letter) in letters.enumerated() {
      if letter.isUppercase, index > 0 {
        let before = letters[index - 1]
        let endsAcronym = before.isUppercase && index + 1 < letters.count && letters[index + 1].isLowercase
        if before != "_", !before.isUppercase || endsAcronym { key.append("_") }
      }
      key += letter.lowercased()
    }
    return key
  }
}

/// The keys of an entity's properties.
struct KeyMap {
  /// The keys by the slots of the properties.
  let keys: [String]
  let slots: [String: Int]

  /// - Throws: ``StoreError/propertyMisused(entity:property:reason:)`` if two properties have one key.
  init(_ entity: EntityMapping, _ names: JSONMapping.Names) throws(StoreError) {
    keys = entity.slots.map { $0.key ?? names.key(of: $0.name) }
    var slots: [String: Int] = [:]
    for (slot, key) in keys.enumerated() {
      if let other = slots.updateValue(slot, forKey: key) {
        throw .propertyMisused(
          entity: entity.name, property: entity.slots[slot].name,
          reason: "has the JSON key \"\(key)\", and so has \(entity.slots[other].name): give one of them the "
            + "option .key(…)")
      }
    }
    self.slots = slots
  }
}
