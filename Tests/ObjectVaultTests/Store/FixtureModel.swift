// The model and the content of the stores in Tests/Fixtures/stores/0.1.0: every attribute type, every
// kind of relationship. Neither changes after the release.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport

final class Painter: ManagedObject {
  @Attribute(.unique) var name: String
  @Attribute(.indexed) var born: Int?
  @ToOne var teacher: Painter?
  @ToMany(inverse: \Painter.teacher) var pupils: Set<Painter>
  @ToMany(inverse: \Painting.painter, onDelete: .cascade) var paintings: Set<Painting>
}

struct Frame: Codable, Equatable, AttributeValue {
  var wood = ""
  var widths: [Int] = []
  static var placeholder: Frame { Frame() }
}

final class Painting: ManagedObject {
  @Attribute(.indexed) var title: String
  @Attribute var flag: Bool
  @Attribute var int: Int
  @Attribute var int8: Int8
  @Attribute var int16: Int16
  @Attribute var int32: Int32
  @Attribute var uint8: UInt8
  @Attribute var uint16: UInt16
  @Attribute var uint32: UInt32
  @Attribute var float: Float
  @Attribute var double: Double
  @Attribute(.indexed) var decimal: Decimal
  @Attribute var data: Data
  @Attribute var date: Date
  @Attribute var uuid: UUID
  @Attribute var url: URL
  @Attribute var frame: Frame
  @Attribute var note: String?
  @ToOne(.required) var painter: Painter?
  @ToMany(inverse: \Motif.paintings) var motifs: Set<Motif>
}

final class Motif: ManagedObject {
  @Attribute(.unique) var name: String
  @ToMany var paintings: Set<Painting>
}

/// The stores of a release, and the graph in them.
enum Fixture {
  static let key = Key.passphrase("an old brush")
  static let schema = Schema {
    Entity(Painter.self)
    Entity(Painting.self)
    Entity(Motif.self)
  }
  static let folder = packageRoot.appendingPathComponent("Tests/Fixtures/stores/0.1.0")
  static var steps: URL { folder.appendingPathComponent("Steps") }

  /// The file that an engine of this major version made.
  static func file(_ major: Int) -> URL { folder.appendingPathComponent("sqlcipher\(major).sqlcipher") }

  static func fill(_ context: ObjectContext) {
    let teacher = context.insert(Painter.self) {
      $0.name = "吳道子"
      $0.born = 680
    }
    let pupil = context.insert(Painter.self) {
      $0.name = "Zoë 'the' \"brush\""
      $0.teacher = teacher
    }
    let motifs = ["horse", "mountain"].map { name in context.insert(Motif.self) { $0.name = name } }
    context.insert(Painting.self) { painting in
      painting.title = "e\u{301} 🏳️‍🌈 a\0b\r\n"
      painting.flag = true
      (painting.int, painting.int8, painting.int16) = (.min, .min, .max)
      (painting.int32, painting.uint8, painting.uint16) = (.min, .max, .max)
      (painting.uint32, painting.float, painting.double) = (.max, 0.1, .leastNonzeroMagnitude)
      painting.decimal = Decimal(string: "-1234567890123456789.000000000000001") ?? 0
      painting.data = Data([0, 255, 10])
      painting.date = Date(timeIntervalSinceReferenceDate: 123_456_789.123_456_78)
      painting.uuid = UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F") ?? painting.uuid
      painting.url = URL(string: "https://example.org/a?b=c#d") ?? painting.url
      painting.frame = Frame(wood: "Kirsche \"é\"", widths: [1, -2])
      painting.note = "first"
      painting.painter = teacher
      painting.motifs = Set(motifs)
    }
    context.insert(Painting.self) { painting in
      fillPlainly(painting, title: "", painter: pupil)
      painting.motifs = [motifs[0]]
    }
  }

  /// Sets all required values, most of them to zero.
  static func fillPlainly(_ painting: Painting, title: String, painter: Painter) {
    (painting.title, painting.painter, painting.flag) = (title, painter, false)
    (painting.int, painting.int8, painting.int16, painting.int32) = (0, 0, 0, 0)
    (painting.uint8, painting.uint16, painting.uint32) = (0, 0, 0)
    (painting.float, painting.double, painting.decimal, painting.data) = (0, 0, 0, Data())
    painting.date = Date(timeIntervalSinceReferenceDate: 0)
    painting.uuid = UUID(uuidString: "00000000-0000-0000-0000-000000000000") ?? painting.uuid
    painting.url = URL(string: "a") ?? painting.url
    painting.frame = Frame()
  }

  // MARK: Content

  static let expected = [
    "painter Zoë 'the' \"brush\": born nil, teacher 吳道子, pupils [], paintings [\"\"]",
    "painter 吳道子: born 680, teacher nil, pupils [\"Zoë \\'the\\' \\\"brush\\\"\"], paintings [\"e\u{301} 🏳️‍🌈 a\\0b\\r\\n\"]",
    "motif horse: [\"\", \"e\u{301} 🏳️‍🌈 a\\0b\\r\\n\"]", "motif mountain: [\"e\u{301} 🏳️‍🌈 a\\0b\\r\\n\"]",
    "painting 1: true \(Int.min) -128 32767 \(Int32.min) 255 65535 4294967295 0.1 5e-324 "
      + "-1234567890123456789.000000000000001 AP8K 123456789.12345678 E621E1F8-C36C-495A-93FC-0C247A3E6E5F "
      + "https://example.org/a?b=c#d Kirsche \"é\" [1, -2] first",
    "painting 2: false 0 0 0 0 0 0 0 0.0 0.0 0  0.0 00000000-0000-0000-0000-000000000000 a  [] nil",
  ]

  /// Describes the objects that classes find, one line for each.
  static func graph(_ context: ObjectContext) throws -> [String] {
    let painters = try context.fetch(Painter.self).sorted(by: \.name).all().map {
      "painter \($0.name): born \(text($0.born)), teacher \($0.teacher?.name ?? "nil"), "
        + "pupils \($0.pupils.map(\.name).sorted()), paintings \($0.paintings.map(\.title).sorted())"
    }
    let motifs = try context.fetch(Motif.self).sorted(by: \.name).all().map {
      "motif \($0.name): \($0.paintings.map(\.title).sorted())"
    }
    let paintings = try context.fetch(Painting.self).sorted(by: \.id).all().map { one in
      let numbers =
        "\(one.flag) \(one.int) \(one.int8) \(one.int16) \(one.int32) \(one.uint8) \(one.uint16) \(one.uint32) "
        + "\(one.float) \(one.double) \(one.decimal)"
      return "painting \(one.id.rowID): \(numbers) \(one.data.base64EncodedString()) "
        + "\(one.date.timeIntervalSinceReferenceDate) \(one.uuid) \(one.url) \(one.frame.wood) \(one.frame.widths) "
        + (one.note ?? "nil")
    }
    return painters + motifs + paintings
  }

  /// Describes the objects that names find, in the same lines.
  static func graph(byNames context: ObjectContext) throws -> [String] {
    let painters = try context.fetch(entity: "Painter").sorted(byPath: "name").all().map { one in
      "painter \(one["name"] as String): born \(text(one["born"] as Int?)), "
        + "teacher \(one[toOne: "teacher"].map { $0["name"] as String } ?? "nil"), "
        + "pupils \(names(one, of: "pupils", by: "name")), "
        + "paintings \(names(one, of: "paintings", by: "title"))"
    }
    let motifs = try context.fetch(entity: "Motif").sorted(byPath: "name").all().map { one in
      "motif \(one["name"] as String): \(names(one, of: "paintings", by: "title"))"
    }
    let paintings = try context.fetch(entity: "Painting").sorted(byPath: "id").all().map { one in
      let frame = one["frame"] as Frame
      let numbers =
        "\(one["flag"] as Bool) \(one["int"] as Int) \(one["int8"] as Int8) \(one["int16"] as Int16) "
        + "\(one["int32"] as Int32) \(one["uint8"] as UInt8) \(one["uint16"] as UInt16) \(one["uint32"] as UInt32) "
        + "\(one["float"] as Float) \(one["double"] as Double) \(one["decimal"] as Decimal)"
      return "painting \(one.id.rowID): \(numbers) \((one["data"] as Data).base64EncodedString()) "
        + "\((one["date"] as Date).timeIntervalSinceReferenceDate) \(one["uuid"] as UUID) \(one["url"] as URL) "
        + "\(frame.wood) \(frame.widths) \((one["note"] as String?) ?? "nil")"
    }
    return painters + motifs + paintings
  }

  private static func names(_ object: DynamicObject, of relationship: String, by name: String) -> [String] {
    object[toMany: relationship].map { $0[name] as String }.sorted()
  }

  private static func text(_ number: Int?) -> String { number.map { "\($0)" } ?? "nil" }
}
