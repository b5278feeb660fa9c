// The model that a file of Core Data's keeps of itself, in Z_MODELCACHE: a keyed archive, packed. Read as a list of
// objects, each looked at once, so that a broken one can neither go round in a circle nor ask for much.

internal import ObjectVault

/// What Core Data's own copy of the model says of the properties.
struct CoreDataModel {
  /// A property of an entity. One that is inherited is there for each entity that has it.
  struct Property: Equatable {
    enum Kind: Equatable {
      /// `type` is the number of an NSAttributeType.
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
    /// The number of an NSDeleteRule.
    let deleteRule: Int64
  }

  /// The properties that are in the file, by their entities.
  let properties: [String: [Property]]

  /// The most that is unpacked. Models of some hundred entities have 200 KB.
  static let byteLimit = 4 << 20

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

/// The objects of a keyed archive, by their numbers.
private struct KeyedArchive {
  private let list: BinaryPropertyList
  /// The numbers in the list, of the archive's objects.
  private let objects: [Int]
  private var texts: [Int: String] = [:]
  /// What may still be read: objects may lie over one another, and each says that it is large.
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

  /// The fields of an object, as numbers in the list.
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

  /// What a field that refers to another object finds there.
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
      // A text that could be changed is an object of its own.
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
