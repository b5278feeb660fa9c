// Parts of JSON attributes in predicates, sorts, values and groups, against the same questions in Swift.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

private enum Look: String, Codable, CaseIterable, AttributeValue { case plain, fancy }

/// Encodes its cases in a form of its own.
private enum Level: Int, Codable, CaseIterable, AttributeValue {
  case low, high

  init(from decoder: any Decoder) throws {
    self = try decoder.singleValueContainer().decode(String.self) == "low" ? .low : .high
  }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(self == .low ? "low" : "high")
  }
}

private struct Size: Codable, Equatable {
  var width = 1
  var height = 2.5
  var label: String? = "l"
}

private struct Settings: Codable, Equatable, AttributeValue {
  var theme = "light"
  var look = Look.plain
  var size = Size()
  var tags = ["a"]
  var sizes = [Size()]
  var limits = ["x": 1]
  var isDark = false
  var opened: Date? = Date(timeIntervalSinceReferenceDate: 1)
  var price: Decimal = 1
  var other: Size? = Size()
  var link = URL(filePath: "/x")
  var matrix = [[1]]
  var blob = Data([1])
  var level = Level.low
  var half = 0.5
  var full = 0.5
  var big: UInt64 = 1
  var note: String? = "n"
  var missing: String?
  static var placeholder: Settings { Settings() }

  enum CodingKeys: String, CodingKey {
    case theme, look, size, tags, sizes, limits, isDark, opened, price, other, missing, link, matrix, blob,
      level
    case note = "the note"
    case big
    case half = "full"
    case full = "half"
  }
}

private struct Lines: Codable, Equatable, AttributeValue, Collection {
  var texts = ["first"]
  init(_ texts: [String] = ["first"]) { self.texts = texts }
  init(from decoder: any Decoder) throws { texts = try [String](from: decoder) }
  func encode(to encoder: any Encoder) throws { try texts.encode(to: encoder) }
  static var placeholder: Lines { Lines() }
  var startIndex: Int { texts.startIndex }
  var endIndex: Int { texts.endIndex }
  func index(after index: Int) -> Int { index + 1 }
  subscript(index: Int) -> String { texts[index] }
}

private final class Document: ManagedObject {
  @Attribute var name: String
  @Attribute var settings: Settings
  @Attribute var old: Settings?
  @Attribute var rank: Int
  @Attribute var lines: Lines
  var shown: Settings { old ?? settings }
  var tinted: Settings {
    var copy = settings
    if copy.isDark { copy.theme = "zzz" }
    return copy
  }
  var corrected: Settings {
    var copy = settings
    if copy.theme.isEmpty { copy.theme = "none" }
    return copy
  }
  @ToOne(inverse: \Folder.documents) var folder: Folder?
}

private final class Folder: ManagedObject {
  @Attribute var settings: Settings
  @ToMany var documents: Set<Document>
}

@Suite struct JSONParts {
  private static let schema = Schema {
    Entity(Document.self)
    Entity(Folder.self)
  }
  private let temporary: TemporaryStore
  private var store: Store { temporary.store }

  private static func settings(_ number: Int) -> Settings {
    var settings = Settings()
    settings.theme = ["light", "dark", "Dark \"q\" \\ é/\n", ""][number % 4]
    settings.look = number % 2 == 0 ? .plain : .fancy
    settings.size = Size(
      width: number - 3, height: Double(number) / 4, label: number % 3 == 0 ? nil : "l\(number)")
    settings.tags = (0..<number % 4).map { "t\($0)" }
    settings.sizes = (0..<number % 3).map { Size(width: $0 + number) }
    settings.limits = number % 2 == 0 ? ["x": number, "a.b[0]'": 7, "\u{301}x": 3] : [:]
    settings.isDark = number % 4 == 1
    settings.opened = number % 5 == 0 ? nil : Date(timeIntervalSinceReferenceDate: Double(number) * 0.1)
    settings.price = Decimal(number) / 10
    settings.other = number % 3 == 1 ? nil : Size(width: number)
    settings.note = number % 3 == 2 ? nil : "n\(number)"
    settings.link = URL(string: "https://example.com/\(number)") ?? settings.link
    settings.matrix = [[], Array(0..<number % 4)]
    return settings
  }

  init() async throws {
    temporary = try await TemporaryStore(Self.schema)
    let context = store.makeContext()
    let folders = (0..<2).map { number in
      context.insert(Folder.self) { $0.settings = Self.settings(number + 1) }
    }
    for number in 0..<24 {
      context.insert(Document.self) {
        ($0.name, $0.settings, $0.rank) = ("d\(number)", Self.settings(number), number % 6)
        $0.lines = Lines((0..<number % 3).map { "l\($0)" })
        $0.old = number % 3 == 0 ? nil : Self.settings(number + 1)
        $0.folder = number % 4 == 0 ? nil : folders[number % 2]
      }
    }
    try context.save()
  }

  /// Returns a context whose objects are saved, and one with changes of many objects.
  private func contexts() throws -> [ObjectContext] {
    let changed = store.makeContext()
    for (number, document) in try changed.fetch(Document.self).all().enumerated() where number % 2 == 0 {
      document.settings = Self.settings(number + 5)
    }
    changed.insert(Document.self) { ($0.name, $0.settings, $0.rank) = ("new", Self.settings(2), 3) }
    try changed.fetch(Folder.self).all().first?.settings = Self.settings(8)
    return [store.makeContext(), changed]
  }

  // MARK: Conditions

  private static let formats: [(String, @Sendable (Document) -> Bool)] = [
    ("settings.theme == 'dark'", { $0.settings.theme == "dark" }),
    ("settings.theme != 'dark'", { $0.settings.theme != "dark" }),
    ("settings.theme ==[c] 'DARK'", { $0.settings.theme.lowercased() == "dark" }),
    ("settings.theme BEGINSWITH 'Da'", { $0.settings.theme.hasPrefix("Da") }),
    ("settings.theme CONTAINS '\\\\ é/'", { $0.settings.theme.contains("\\ é/") }),
    ("settings.theme IN {'light', ''}", { ["light", ""].contains($0.settings.theme) }),
    ("'dark' == settings.theme", { $0.settings.theme == "dark" }),
    ("settings.size.width > 5", { $0.settings.size.width > 5 }),
    ("settings.size.width == 2.5", { _ in false }),
    ("settings.size.height > 2", { $0.settings.size.height > 2 }),
    ("settings.size.height == 2.5", { $0.settings.size.height == 2.5 }),
    ("settings.size.width BETWEEN {0, 4}", { (0...4).contains($0.settings.size.width) }),
    ("settings.size.width IN {0, 1, 9}", { [0, 1, 9].contains($0.settings.size.width) }),
    ("settings.size.width == rank", { $0.settings.size.width == $0.rank }),
    ("rank > settings.size.height", { Double($0.rank) > $0.settings.size.height }),
    ("settings.size.label == nil", { $0.settings.size.label == nil }),
    ("settings.size.label != nil", { $0.settings.size.label != nil }),
    ("settings.isDark", { $0.settings.isDark }),
    ("NOT settings.isDark", { !$0.settings.isDark }),
    ("settings.isDark == NO", { !$0.settings.isDark }),
    ("settings.price == 0.3", { $0.settings.price == Decimal(3) / 10 }),
    ("CAST(settings.price, 'Decimal') > 1.05", { $0.settings.price > Decimal(105) / 100 }),
    ("CAST(settings.size.width, 'Int') * 2 == 8", { $0.settings.size.width == 4 }),
    ("TERNARY(settings.size.label == nil, 'none', 'some') == 'none'", { $0.settings.size.label == nil }),
    ("length(CAST(settings.theme, 'String')) == 5", { $0.settings.theme.count == 5 }),
    ("settings.tags[0] == 't0'", { !$0.settings.tags.isEmpty }),
    ("settings.tags[LAST] == 't2'", { $0.settings.tags.last == "t2" }),
    ("settings.tags[SIZE] == 2", { $0.settings.tags.count == 2 }),
    ("settings.tags.@count > 2", { $0.settings.tags.count > 2 }),
    ("settings.sizes[1].width > 10", { $0.settings.sizes.count > 1 && $0.settings.sizes[1].width > 10 }),
    ("settings.theme IN {nil, 'dark'}", { $0.settings.theme == "dark" }),
    ("settings.size.label IN {nil, 'l1'}", { [nil, "l1"].contains($0.settings.size.label) }),
    (
      "name IN {settings.theme, 'd3', settings.size.label}",
      { ["d3", $0.settings.size.label, $0.settings.theme].contains($0.name) }
    ),
    ("'l4' IN {settings.size.label}", { $0.settings.size.label == "l4" }),
    (
      "settings.link == 'https://example.com/3'",
      { $0.settings.link.absoluteString == "https://example.com/3" }
    ),
    ("settings.matrix[1][SIZE] == 2", { $0.settings.matrix[1].count == 2 }),
    ("settings.matrix[1][LAST] == 2", { $0.settings.matrix[1].last == 2 }),
    ("lines[0] == 'l0'", { $0.lines.first == "l0" }), ("lines[SIZE] > 1", { $0.lines.count > 1 }),
    ("settings.level == 'low'", { $0.settings.level == .low }),
    ("settings.limits.x >= 6", { ($0.settings.limits["x"] ?? -1) >= 6 }),
    ("settings.limits['\\u0301x'] == 3", { $0.settings.limits["\u{301}x"] == 3 }),
    ("settings.limits['a.b[0]\\''] == 7", { $0.settings.limits["a.b[0]'"] == 7 }),
    ("settings['the note'] == nil", { $0.settings.note == nil }),
    ("settings['the note'] == 'n3'", { $0.settings.note == "n3" }),
    ("old.theme == 'dark'", { $0.old?.theme == "dark" }),
    ("old.size.width == nil", { $0.old == nil }),
    ("folder.settings.size.width == -1", { $0.folder?.settings.size.width == -1 }),
    (
      "CAST(folder.settings.theme, 'String') == settings.theme",
      { $0.folder?.settings.theme == $0.settings.theme }
    ),
    ("settings.nothing.at.all == nil", { _ in true }),
    ("settings.theme.deeper == nil", { _ in true }),
    ("settings.theme == 3", { _ in false }),
    (
      "settings.opened > CAST('2001-01-01T00:00:01Z', 'Date')",
      {
        ($0.settings.opened?.timeIntervalSinceReferenceDate ?? 0) > 1
      }
    ),
  ]

  @Test func `conditions in the format language find what Swift finds`() throws {
    for context in try contexts() {
      let all = try context.fetch(Document.self).all()
      for (format, holds) in Self.formats {
        let found = Set(try context.fetch(Document.self).where(format).all().map(\.name))
        #expect(found == Set(all.filter(holds).map(\.name)), "\(format)")
        let others = Set(try context.fetch(Document.self).where("NOT (\(format))").all().map(\.name))
        #expect(others == Set(all.map(\.name)).subtracting(found), "NOT (\(format))")
      }
    }
  }

  @Test func `conditions of members read parts of their JSON`() throws {
    for context in try contexts() {
      for folder in try context.fetch(Folder.self).all() {
        let wide = folder.documents.contains { $0.settings.size.width > 15 }
        let found = try context.fetch(Folder.self).where("ANY documents.settings.size.width > 15").all()
        #expect(found.contains { $0 === folder } == wide)
        let all = folder.documents.allSatisfy { $0.settings.size.width < 30 }
        let narrow = try context.fetch(Folder.self).where("ALL documents.settings.size.width < 30").all()
        #expect(narrow.contains { $0 === folder } == all)
      }
    }
  }

  @Test func `a #Predicate finds what its own evaluation finds`() throws {
    let (look, minus, link) = (Look.fancy, -1, Self.settings(5).link)
    let predicates: [Predicate<Document>] = [
      #Predicate { $0.settings.theme == "dark" },
      #Predicate { $0.settings.look == look },
      #Predicate { $0.settings.size.width > 5 && !$0.settings.isDark },
      #Predicate { $0.settings.size.label == nil },
      #Predicate { $0.settings.theme.count == 5 },
      #Predicate { $0.settings.theme.isEmpty },
      #Predicate { $0.settings.theme.contains("a") },
      #Predicate { $0.settings.tags.count > 1 },
      #Predicate { $0.settings.tags.isEmpty },
      #Predicate { $0.settings.limits["x"] == 4 },
      #Predicate { $0.settings.limits["a.b[0]'"] == nil },
      #Predicate { $0.old?.theme == "dark" },
      #Predicate { $0.old?.size.width == 4 },
      #Predicate { $0.old?.size.label == nil },
      #Predicate { $0.old == nil },
      #Predicate { $0.settings.other?.width == 6 },
      #Predicate { $0.settings.other == nil },
      #Predicate { ($0.settings.other?.width ?? 3) == 3 },
      #Predicate { $0.folder?.settings.size.width == minus },
      #Predicate { $0.settings.size.height * 2.0 > 4.0 },
      #Predicate { $0.settings.link == link },
    ]
    for context in try contexts() {
      let all = try context.fetch(Document.self).all()
      for predicate in predicates {
        let found = try context.fetch(Document.self).where(predicate).all().map(\.name)
        let expected = try all.filter { try predicate.evaluate($0) }.map(\.name)
        #expect(Set(found) == Set(expected), "\(predicate)")
      }
      // Foundation's own evaluation ends at an index that does not exist.
      let first = try context.fetch(Document.self).where(#Predicate { $0.settings.tags[0] == "t0" }).all()
      #expect(Set(first.map(\.name)) == Set(all.filter { !$0.settings.tags.isEmpty }.map(\.name)))
      let wide = try context.fetch(Document.self).where(#Predicate { $0.settings.sizes[1].width > 10 }).all()
      let isWide = { (document: Document) in
        document.settings.sizes.count > 1 && document.settings.sizes[1].width > 10
      }
      #expect(Set(wide.map(\.name)) == Set(all.filter(isWide).map(\.name)))
    }
  }

  // MARK: Values

  @Test func `sorts, values, groups and sums take key paths to parts`() throws {
    for context in try contexts() {
      let all = try context.fetch(Document.self).all()
      let widths = all.map(\.settings.size.width).sorted()
      #expect(
        try context.fetch(Document.self).sorted(by: \.settings.size.width).all().map(\.settings.size.width)
          == widths)
      let heights = all.map(\.settings.size.height).sorted(by: >)
      let falling = context.fetch(Document.self).sorted(by: \.settings.size.height, .reverse)
      #expect(try falling.values(\.settings.size.height) == heights)
      let labels = try context.fetch(Document.self).sorted(by: \.settings.size.label, nils: .last).all()
      let nils = labels.map(\.settings.size.label).drop { $0 != nil }
      #expect(nils.allSatisfy { $0 == nil } && nils.count == all.count { $0.settings.size.label == nil })
      let pairs = try context.fetch(Document.self).sorted(by: \.id).values(\.name, \.old?.theme)
      let themes: [String?] = try context.fetch(Document.self).sorted(by: \.id).all().map { $0.old?.theme }
      #expect(pairs.map(\.1) == themes)
      let looks = try context.fetch(Document.self).counts(by: \.settings.look)
      #expect(looks == Dictionary(grouping: all, by: \.settings.look).mapValues(\.count))
      #expect(try context.fetch(Document.self).sum(\.settings.size.width) == widths.reduce(0, +))
      #expect(try context.fetch(Document.self).maximum(\.settings.price) == all.map(\.settings.price).max())
      var (found, cursor): ([Document], PageCursor<Document>?) = ([], nil)
      repeat {
        let page = try context.fetch(Document.self).sorted(by: \.settings.theme).page(size: 7, after: cursor)
        (found, cursor) = (found + page.objects, page.next)
      } while cursor != nil
      #expect(
        found.map(\.settings.theme).map { Array($0.utf8) }
          == all.map { Array($0.settings.theme.utf8) }.sorted { $0.lexicographicallyPrecedes($1) })
    }
  }

  @Test func `a request with parts can be encoded`() throws {
    let request = try Document.request.where("settings.size.width > 5").sorted(by: \.settings.theme)
    let coded = try JSONDecoder().decode(ObjectRequest<Document>.self, from: JSONEncoder().encode(request))
    let context = store.makeContext()
    #expect(coded == request)
    #expect(try context.fetch(coded).all().map(\.name) == context.fetch(request).all().map(\.name))
  }

  @Test func `a list without elements finds nothing, and members have elements`() throws {
    for context in try contexts() {
      #expect(try context.fetch(Document.self).where("settings.theme IN %@", [String]()).count() == 0)
      let folders = try context.fetch(Folder.self).where("ANY documents.lines[1] == 'l1'").all()
      let expected = try context.fetch(Folder.self).all().filter {
        $0.documents.contains { $0.lines.count > 1 }
      }
      #expect(Set(folders) == Set(expected))
    }
  }

  @Test func `alternatives of many parts are compiled once each`() throws {
    let theme = PredicateOperand.path(PropertyPath(["settings", "theme"]))
    let light = PredicateOperand.value(PredicateValue(type: .string, stored: .text("light")))
    let right = (0..<60).reduce(light) { all, _ in .coalesce(theme, all) }
    let left = (0..<60).reduce(theme) { all, _ in .coalesce(all, theme) }
    for operand in [right, .coalesce(left, light)] {
      for context in try contexts() {
        let all = try context.fetch(Document.self).all().filter { $0.settings.theme == "light" }
        let found = try context.fetch(Document.self).where(.comparison(operand, .equal, light, [])).all()
        #expect(Set(found) == Set(all))
      }
    }
  }

  // MARK: JSON in other forms

  @Test func `JSON that was written by hand is read as JSONDecoder reads it`() throws {
    let texts = [
      #" { "theme" : "dark" , "size":{"width" :4,"x":[1,{"y":"]}"}],"height":3} } "#,
      #"{"the\u006de":"d\u0061rk","size":{"width":4.0}}"#, #"{"a":"\"theme\":\"no\"","theme":"dark"}"#,
      #"{"theme":null}"#, #"{"theme":7,"size":[]}"#, "[]", "{}", "7", "", "{", #"{"theme":"#,
      #"{"theme":"dark"#,
      #"{"theme""dark"}"#, "null", #"{"theme":{"theme":"dark"}}"#,
      #"{"size":{"width":99999999999999999999}}"#,
    ]
    let context = store.makeContext()
    for (index, text) in texts.enumerated() {
      try context.execute("UPDATE Document SET settings = \(text) WHERE name = \("d\(index)")")
    }
    try context.save()
    struct Part: Decodable {
      var theme: String?
      var size: [String: Int]?
      init(from decoder: any Decoder) throws {
        let container = try? decoder.container(keyedBy: Key.self)
        theme = try? container?.decode(String.self, forKey: .theme)
        width = try? container?.nestedContainer(keyedBy: Key.self, forKey: .size).decode(
          Int.self, forKey: .width)
      }
      var width: Int?
      enum Key: CodingKey { case theme, size, width }
    }
    let reader = store.makeContext()
    let found = Set(try reader.fetch(Document.self).where("settings.theme == 'dark'").values(\.name))
    let wide = Set(
      try reader.fetch(Document.self).where("CAST(settings.size.width, 'Int') == 4").values(\.name))
    for (index, text) in texts.enumerated() {
      let part = try? JSONDecoder().decode(Part.self, from: Data(text.utf8))
      // A text that is cut off is no JSON for the decoder; the part before its end can be read nevertheless.
      #expect(found.contains("d\(index)") == (part?.theme == "dark"), "\(text)")
      #expect(wide.contains("d\(index)") == (part?.width == 4), "\(text)")
    }
  }

  // MARK: Errors

  private func message(_ body: (ObjectContext) throws -> Void) -> String {
    do { try body(store.makeContext()) } catch { return "\(error)" }
    return "no error"
  }

  @Test func `a part without a type and a key that is not known are errors that name the remedy`() {
    #expect(
      message { _ = try $0.fetch(Document.self).where("settings.theme == old.theme").all() }.contains(
        "both sides are parts of JSON, whose types are not known; write CAST(settings.theme, 'String')"))
    #expect(
      message { _ = try $0.fetch(Document.self).sorted(byPath: "settings.theme").all() }.contains(
        "Document.settings.theme is a part of JSON, whose type is not known here"))
    #expect(
      message { _ = try $0.fetch(Document.self).where("settings.size.width + 1 > 2").all() }.contains(
        "write CAST("))
    #expect(
      message { _ = try $0.fetch(Document.self).sorted(by: \.settings.note).all() }.contains(
        "has another key in JSON"))
    #expect(
      message { _ = try $0.fetch(Document.self).where(#Predicate { $0.settings.missing == "a" }).all() }
        .contains(
          "the placeholder of the attribute's type has no value"))
    #expect(
      message { _ = try $0.fetch(Document.self).where(#Predicate { $0.settings.note == "a" }).all() }
        != "no error")
    #expect(
      message { _ = try $0.fetch(Document.self).sorted(by: \.settings.missing).all() }.contains(
        "\\Document.settings.missing in JSON is not known"))
    for path in [\Document.shown.theme, \.corrected.theme, \.tinted.theme, \.settings.theme.capitalized] {
      #expect(message { _ = try $0.fetch(Document.self).sorted(by: path).all() } != "no error", "\(path)")
    }
    #expect(
      message { _ = try $0.fetch(Document.self).sorted(by: \.settings.half).all() }.contains("another key"))
    #expect(
      message { _ = try $0.fetch(Document.self).sorted(by: \.settings.level).all() }.contains("another form"))
    #expect(
      message { _ = try $0.fetch(Document.self).where(#Predicate { $0.settings.blob[0] == 1 }).all() }
        .contains(
          "no array"))
    #expect(message { _ = try $0.fetch(Document.self).prefetch(\.settings.theme).all() } != "no error")
    #expect(message { _ = try $0.fetch(Document.self).where("name[0] == 'a'").all() } != "no error")
    #expect(message { _ = try $0.fetch(Document.self).where("name['x'] == 'a'").all() } != "no error")
    #expect(message { _ = try $0.fetch(Document.self).where("name.x == 'a'").all() }.contains("has no x"))
    #expect(
      message { _ = try $0.fetch(Document.self).only(\.settings.theme).all() }.contains(
        "settings.theme is a part of a JSON attribute"))
  }
}
