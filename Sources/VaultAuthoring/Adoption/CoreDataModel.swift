// Reads the model that a Core Data file stores in Z_MODELCACHE: a compressed keyed archive. It is read as
// a list of objects, each visited once, so that a damaged archive cannot cause endless recursion or
// unlimited memory use.

internal import ObjectVault

/// The properties in Core Data's own copy of the model.
struct CoreDataModel {
  /// A property of an entity. An inherited property occurs once for each entity that has it.
  struct Property: Equatable {
    enum Kind: Equatable {
      /// `type` is the raw value of an NSAttributeType.
      case attribute(type: Int64, isExternal: Bool)
      case relationship(Relationship)
    }

    let name: String
    let kind: Kind
  }

  struct Relationship: Equatable {
    let destination: String
    let inverse: String?
    let isToMany: Bool
    let isOrdered: Bool
    /// The raw value of an NSDeleteRule.
    let deleteRule: Int64
  }

  /// The stored properties, by entity.
  let properties: [String: [Property]]

  /// The maximum of decompressed bytes. Models with a few hundred entities have 200 KB.
  static let byteLimit = 4 << 20

  /// Reads a model from its compressed bytes.
  /// - Returns: nil where the bytes are no model.
  init?(packed bytes: [UInt8]) {
    guard let plain = Inflation.inflated(bytes, limit: Self.byteLimit) ?? (bytes.first == 98 ? bytes : nil),
      var archive = KeyedArchive(plain)
    else { return nil }
    var properties: [String: [Property]] = [:]
    for number in 0..<archive.count {
      guard let (entity, property) = Self.property(number, &archive) else { continue }
      properties[entity, default: []].append(property)
    }
    guard !properties.isEmpty, !archive.isExhausted else { return nil }
    self.properties = properties
  }

  private static func property(_ number: Int, _ archive: inout KeyedArchive) -> (String, Property)? {
    guard let object = archive.object(number), let kind = archive.className(of: object),
      kind.hasSuffix("AttributeDescription") || kind == "NSRelationshipDescription",
      let name = archive.text(object["NSPropertyName"]), archive.bool(object["NSIsTransient"]) != true,
      let entity = archive.name("NSEntityName", of: object["NSEntity"])
    else { return nil }
    guard kind == "NSRelationshipDescription" else {
      let (type, flags) = (archive.integer(object["NSAttributeType"]), archive.integer(object["NSFlagsKey"]))
      // Bit 2 is "Allows External Storage".
      return (
        entity, Property(name: name, kind: .attribute(type: type ?? 0, isExternal: (flags ?? 0) & 4 != 0))
      )
    }
    guard
      let destination = archive.text(object["_NSDestinationEntityName"])
        ?? archive.name("NSEntityName", of: object["NSDestinationEntity"])
    else { return nil }
    let relationship = Relationship(
      destination: destination,
      inverse: archive.text(object["_NSInverseRelationshipName"])
        ?? archive.name("NSPropertyName", of: object["NSInverseRelationship"]),
      isToMany: archive.integer(object["NSMaxCount"]) != 1,
      isOrdered: archive.bool(object["NSIsOrdered"]) == true,
      deleteRule: archive.integer(object["NSDeleteRule"]) ?? 1)
    return (entity, Property(name: name, kind: .relationship(relationship)))
  }
}

/// The objects of a keyed archive, by index.
private struct KeyedArchive {
  private let list: BinaryPropertyList
  /// The index in the property list of each object of the archive.
  private let objects: [Int]
  private var texts: [Int: String] = [:]
  /// The remaining amount that may be read: damaged objects may overlap, and each may claim to be large.
  private var budget = 1 << 20

  var count: Int { objects.count }
  var isExhausted: Bool { budget <= 0 }

  init?(_ bytes: [UInt8]) {
    guard let list = BinaryPropertyList(bytes), case .dictionary(let pairs)? = list.value(list.top),
      let pair = pairs.prefix(16).first(where: {
        if case .text("$objects")? = list.value($0.key) { true } else { false }
      }),
      case .list(let objects)? = list.value(pair.value, atMost: .max)
    else { return nil }
    (self.list, self.objects) = (list, objects)
  }

  /// The fields of an object, with the indices of their values in the property list.
  mutating func object(_ number: Int) -> [String: Int]? {
    guard objects.indices.contains(number), budget > 0,
      case .dictionary(let pairs)? = list.value(objects[number])
    else { return nil }
    budget -= pairs.count + 1
    var fields: [String: Int] = [:]
    for pair in pairs {
      guard let key = text(listed: pair.key) else { continue }
      fields[key] = pair.value
    }
    return fields
  }

  mutating func className(of object: [String: Int]) -> String? { name("$classname", of: object["$class"]) }

  /// A text field of the object that another field references.
  mutating func name(_ key: String, of field: Int?) -> String? {
    guard let field, case .reference(let number)? = list.value(field), let object = object(number) else {
      return nil
    }
    return text(object[key])
  }

  mutating func text(_ field: Int?) -> String? {
    guard let field, let value = list.value(field) else { return nil }
    guard case .reference(let number) = value else { return text(listed: field) }
    guard objects.indices.contains(number) else { return nil }
    if case .dictionary? = list.value(objects[number]) {
      // A mutable string is an object with a field of its own.
      guard let inner = object(number)?["NS.string"] else { return nil }
      return text(listed: inner)
    }
    let text = text(listed: objects[number])
    return text == "$null" ? nil : text
  }

  private mutating func text(listed number: Int) -> String? {
    if let known = texts[number] { return known }
    guard budget > 0, case .text(let text)? = list.value(number) else { return nil }
    budget -= text.utf8.count
    texts[number] = text
    return text
  }

  func integer(_ field: Int?) -> Int64? {
    guard case .integer(let number)? = scalar(field) else { return nil }
    return number
  }

  func bool(_ field: Int?) -> Bool? {
    switch scalar(field) {
    case .bool(let truth)?: truth
    case .integer(let number)?: number != 0
    default: nil
    }
  }

  private func scalar(_ field: Int?) -> BinaryPropertyList.Value? {
    guard let field, let value = list.value(field) else { return nil }
    guard case .reference(let number) = value, objects.indices.contains(number) else { return value }
    return list.value(objects[number])
  }
}
