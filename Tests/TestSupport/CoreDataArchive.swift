// Core Data's own copy of a model, made by Foundation's archiver. On Linux the archiver takes no other names
// for classes: the names of two classes are as long as Core Data's, which are written over them.

public import Foundation

/// An object with some fields.
class ArchivedObject: NSObject, NSCoding {
  var fields: [String: Any] = [:]

  init(_ fields: [String: Any] = [:]) { self.fields = fields }
  required init?(coder: NSCoder) { nil }

  func encode(with coder: NSCoder) {
    for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
      switch value {
      case let truth as Bool: coder.encode(truth, forKey: key)
      case let number as Int64: coder.encode(number, forKey: key)
      default: coder.encode(value, forKey: key)
      }
    }
  }
}

final class ArchivedModel: ArchivedObject {}
final class ArchivedEntity: ArchivedObject {}
final class AAttribute: ArchivedObject {}
final class ARelationship: ArchivedObject {}

/// A Core Data model, as `Z_MODELCACHE` has it.
public struct CoreDataArchive {
  private var entities: [String: ArchivedEntity] = [:]
  private var properties: [String: [String: ArchivedObject]] = [:]

  /// Creates an empty model.
  public init() {}

  /// Adds an attribute; `type` is the number of an NSAttributeType.
  public mutating func add(_ entity: String, attribute name: String, type: Int64, flags: Int64 = 0) {
    add(entity, name, AAttribute(["NSAttributeType": type, "NSFlagsKey": flags]))
  }

  /// Adds a relationship; `rule` is the number of an NSDeleteRule.
  public mutating func add(
    _ entity: String, _ name: String, to target: String, inverse: String, isToMany: Bool = false,
    isOrdered: Bool = false, rule: Int64 = 1
  ) {
    var fields: [String: Any] = [
      "_NSDestinationEntityName": target, "_NSInverseRelationshipName": inverse, "NSDeleteRule": rule,
      "NSMaxCount": isToMany ? Int64(0) : 1,
    ]
    if isOrdered { fields["NSIsOrdered"] = true }
    add(entity, name, ARelationship(fields))
  }

  private mutating func add(_ entity: String, _ name: String, _ property: ArchivedObject) {
    let owner = entities[entity] ?? ArchivedEntity(["NSEntityName": entity])
    entities[entity] = owner
    property.fields["NSPropertyName"] = name
    property.fields["NSEntity"] = owner
    properties[entity, default: [:]][name] = property
  }

  /// The archive, whose objects refer to one another in circles.
  public var data: Data {
    for (name, entity) in entities {
      entity.fields["NSProperties"] = (properties[name] ?? [:]) as NSDictionary
    }
    let archiver = NSKeyedArchiver(requiringSecureCoding: false)
    archiver.outputFormat = .binary
    archiver.encode(ArchivedModel(["NSEntities": entities as NSDictionary]), forKey: "root")
    archiver.finishEncoding()
    var data = archiver.encodedData
    let names: [(own: AnyClass, name: String)] = [
      (AAttribute.self, "NSAttributeDescription"), (ARelationship.self, "NSRelationshipDescription"),
    ]
    for names in names {
      let written = Data(NSStringFromClass(names.own).utf8)
      // The name occurs twice at most: as the class, and as the first class of its superclass chain.
      while let place = data.range(of: written) { data.replaceSubrange(place, with: Data(names.name.utf8)) }
    }
    return data
  }

  /// The archive as a deflate stream of stored blocks.
  public var packed: Data { Self.packed(data) }

  /// Some bytes as a deflate stream of stored blocks.
  public static func packed(_ data: Data) -> Data {
    var stream = Data()
    var rest = data[...]
    repeat {
      let block = rest.prefix(0xFFFF)
      rest = rest.dropFirst(block.count)
      stream.append(rest.isEmpty ? 1 : 0)
      for number in [block.count, 0xFFFF ^ block.count] {
        stream.append(contentsOf: [UInt8(number & 255), UInt8(number >> 8)])
      }
      stream.append(block)
    } while !rest.isEmpty
    return stream
  }
}
